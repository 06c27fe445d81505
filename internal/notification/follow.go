package notification

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FollowLevel selects the messages that a follower gets.
type FollowLevel string

// The levels of entity_follow.
const (
	FollowAll       FollowLevel = "ALL"       // everything that followers hear
	FollowImportant FollowLevel = "IMPORTANT" // only what is mandatory, or has the priority HIGH
)

// MaxFollows is the maximum number of entities that a person follows, and that a person mutes.
const MaxFollows = 1000

const maxEntityType = 60 // bytes

// CanBeMuted reports whether people can mute and follow the entity: it is not CUSTOMER, ADMIN or
// BROADCAST, and has a type of 1 to 60 and an id of 1 to 64 bytes, all printable.
func (e Entity) CanBeMuted() bool {
	switch e.Type {
	case EntityCustomer, EntityAdmin, EntityBroadcast:
		return false
	}
	return printable(e.Type, maxEntityType) && printable(e.ID, maxEntityID)
}

// CanBeMutedBy reports whether a person can mute and follow the entity. Nobody can mute an entity that is
// the person, such as PATIENT/7 for PATIENT 7: events then name the person directly.
func (e Entity) CanBeMutedBy(who RecipientKey) bool { return e.CanBeMuted() && !e.is(who) }

// is reports whether the entity is the person.
func (e Entity) is(who RecipientKey) bool { return e == Entity{string(who.UserType), who.UserID} }

func printable(text string, bytes int) bool {
	return text != "" && len(text) <= bytes && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
