package notification

import (
	"fmt"
)

// The types of entity, and of aggregate, that mean something to Herald.
const (
	EntityRestaurant = "RESTAURANT"
	EntityCustomer   = "CUSTOMER" // one customer
	EntityAgency     = "AGENCY"
	EntityAdmin      = "ADMIN"     // all admins; its id is "0"
	EntityBroadcast  = "BROADCAST" // everybody; its id is "0"
)

// Entity is what an event reaches people through.
type Entity struct {
	Type, ID string
}

// String is RESTAURANT/5.
func (e Entity) String() string { return e.Type + "/" + e.ID }

// Recipient is somebody whom an event concerns.
type Recipient struct {
	UserType UserType
	Who      string // the word for the type in delivery ids; set where an event's recipients are read
	UserID   string
	Entity   Entity   // through which the event reached them
	Roles    []string // in that entity; several only where the directory is views

	Name            string
	Email           string
	Phone           string // E.164
	SlackWebhookURL string
	HasDevice       bool   // for push messages
	Locale          string // it-CH; empty: unknown
	Timezone        string // IANA; empty: UTC

	Preferences   []Preference         // a channel without one is on
	CategoriesOff []CategoryChannelKey // what they have switched off
	Suppressions  []Suppression        // why their addresses get nothing; of an address that may be written to, none
}

// CategoryChannelKey names a category over one channel.
type CategoryChannelKey struct {
	Category string
	Channel  Channel
}

// Preference is the recipient's row for a channel, or what holds where there is
// none: the channel is on.
func (r Recipient) Preference(channel Channel) Preference {
	for _, p := range r.Preferences {
		if p.Channel == channel {
			return p
		}
	}
	return Preference{Channel: channel, Enabled: true}
}

// SettingsOf is the entity whose settings hold for the recipient. Customers have
// no group of their own, and share the rows of CUSTOMER/0.
func (r Recipient) SettingsOf() Entity {
	if r.UserType == Customer {
		return Entity{Type: EntityCustomer, ID: "0"}
	}
	return r.Entity
}

// Person is a recipient by name.
type Person struct {
	UserType UserType `json:"user_type"`
	UserID   string   `json:"user_id"`
	Name     string   `json:"name"`
}

// PassedOver is people in the directory whom an event names and whom planning cannot
// tell, since their user type is not in user_type, or since no workflow ID may
// hold their id. Only a directory of an installation's own can hold such people.
type PassedOver struct {
	Entity   Entity   // through which the event names them
	UserType UserType // as the directory has it
	Known    bool     // the type is in user_type, so it is for the ids
	Count    int      // of those that were looked at
}

// String names the people and what is wrong with them, and holds no user id.
func (p PassedOver) String() string {
	who, have := p.people(), "have"
	if p.Count == 1 {
		have = "has"
	}
	kind := string(p.UserType)
	if !p.UserType.WellFormed() {
		kind = fmt.Sprintf("%.30q", kind)
	}
	if p.Known {
		return fmt.Sprintf("%d %s of type %s %s an id that is empty, longer than 64 bytes or not printable", p.Count, who, kind, have)
	}
	return fmt.Sprintf("%d %s %s the user type %s, which is not in user_type", p.Count, who, have, kind)
}

func (p PassedOver) people() string {
	one, many := "member of "+p.Entity.String(), "members of "+p.Entity.String()
	if p.Entity.Type == EntityCustomer || p.Entity.Type == EntityAdmin || p.Entity.Type == EntityBroadcast {
		one, many = "recipient", "recipients"
	}
	if p.Count == 1 {
		return one
	}
	return many
}
