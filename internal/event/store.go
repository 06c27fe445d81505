// Package event claims, ends, cancels and repairs events.
package event

import "herald/internal/db"

// Store runs the statements of this package on a database. It remembers where the last claims
// began, so who claims all the time keeps one.
type Store struct {
	*db.DB
	floors *claimFloors
}

// On returns the statements on a database.
func On(d *db.DB) Store { return Store{d, &claimFloors{}} }
