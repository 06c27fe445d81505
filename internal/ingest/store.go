package ingest

import "herald/internal/db"

// Store runs the statements of this package on a database, as the role of a gateway, which may
// read no address and no e-mail.
type Store struct{ *db.DB }

// On returns the statements on a database.
func On(d *db.DB) Store { return Store{d} }
