// Package limit holds messages back: tokens of rate limits, open circuits of providers with the failover
// to the next provider, and back-off.
package limit

import "herald/internal/db"

// Store runs the statements of this package on a database.
type Store struct{ *db.DB }

// On returns the statements on a database.
func On(d *db.DB) Store { return Store{d} }
