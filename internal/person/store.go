// Package person erases, exports and merges people, and moves their suppressions to a new secret.
package person

import "herald/internal/db"

// Store runs the statements of this package on a database.
type Store struct{ *db.DB }

// On returns the statements on a database.
func On(d *db.DB) Store { return Store{d} }
