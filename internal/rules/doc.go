// Package rules keeps the notification rules of an installation in a folder of YAML files: one file
// for each event type, <EVENT_TYPE>.yaml, and installation.yaml for what concerns all of them.
//
// tables.go describes the tables of rules, and sections.go where their rows are in the files. The
// JSON Schema, loading, export, plan and apply all read these two descriptions, so a new column or
// table is one line there.
//
// Postgres decides what a value means: "5 minutes" in a file and 00:05:00 in a table are the same
// rule. Therefore plan and apply let Postgres read the rows of the files before they compare.
package rules
