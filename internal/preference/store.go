// Package preference stores what people choose to hear, over which channels, and when.
package preference

import "herald/internal/db"

// Store runs the statements of this package on a database, as the role of a gateway, which may
// read no address and no e-mail.
type Store struct {
	*db.DB
	isByLink bool // somebody with a link from a message makes the changes; else somebody in the inbox
}

// On returns the statements on a database.
func On(d *db.DB) Store { return Store{DB: d} }

// ByLink returns the statements of s for somebody who has a link from a message.
func ByLink(s Store) Store {
	s.isByLink = true
	return s
}

// changedBy returns the value of changed_by for the changes of s.
func (s Store) changedBy() string {
	if s.isByLink {
		return byLink
	}
	return byInbox
}
