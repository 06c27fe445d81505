// Package notification holds Herald's vocabulary and its rules. The rules are pure functions:
// they decide who gets a notification of an event, over which channel and when. The package
// imports only the standard library, so the rules can be read and tested without a server.
package notification
