// Package ruletest runs the tests in a folder of rules.
//
// A run creates a schema in the database of DATABASE_URL, with Herald's tables and the rules of the
// folder, and drops it at the end. For each test it replaces the people in the directory, and lets the
// planner plan the event at the test's time. So a test shows what a worker would do, by the same rules,
// statements and templates. Nothing is sent, and no other schema is read or written.
package ruletest
