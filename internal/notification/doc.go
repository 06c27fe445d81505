// Package notification is the vocabulary of Herald and its rules: the words
// that every other package uses, and the pure functions that decide who hears
// of an event, over which channel and when. It imports nothing but the standard
// library, so that the rules can be read and tested without a server.
package notification
