package notification

import (
	"fmt"
	"time"
)

// The types of entity and of aggregate with a meaning for Herald.
const (
	EntityRestaurant = "RESTAURANT"
	EntityCustomer   = "CUSTOMER" // one customer
	EntityAgency     = "AGENCY"
	EntityAdmin      = "ADMIN"     // all admins; its id is "0"
	EntityBroadcast  = "BROADCAST" // everybody; its id is "0"
)

// Entity is a group or a person that an event is about.
type Entity struct {
	Type, ID string
}

// String returns RESTAURANT/5.
func (e Entity) String() string { return e.Type + "/" + e.ID }

// Recipient is a person that an event concerns.
type Recipient struct {
	UserType UserType
	Who      string // the word for the type in delivery ids; set when an event's recipients are read
	UserID   string
	Entity   Entity   // through which the event names them
	Roles    []string // in that entity; several only if the directory is views, or they also follow it

	EntityName    string // what people call the entity; empty: its type and id
	MemberRole    string // the role through which the event names them; empty: the entity has no roles
	ImportantOnly bool   // they only follow the entity, at the level IMPORTANT
	Muted         bool   // they have muted the entity

	Name            string
	Email           string
	Phone           string // E.164
	SlackWebhookURL string
	WebhookURL      string
	HasDevice       bool           // for push messages
	Locale          string         // it-CH; empty: unknown
	Timezone        string         // IANA; empty: UTC
	DigestAt        *time.Duration // since midnight, as they chose; nil: as the routing says

	Preferences   []Preference         // a channel without a row is on
	CategoriesOff []CategoryChannelKey // the categories that they switched off
	Suppressions  []Suppression        // why their addresses get nothing; only suppressed addresses
	Throttles     []Throttle           // their last deliveries over channels with a throttle window
	Counted       []CountedMessage     // over channels with a cap
	Decided       bool                 // an earlier planning of the event stored its decisions

	AddressHashes map[Channel]string // hexadecimal, of channels whose routes compare addresses; else not set
}

// CategoryChannelKey names a category over one channel.
type CategoryChannelKey struct {
	Category string
	Channel  Channel
}

// Preference returns the recipient's row for a channel. Without a row, the channel is on.
func (r Recipient) Preference(channel Channel) Preference {
	for _, p := range r.Preferences {
		if p.Channel == channel {
			return p
		}
	}
	return Preference{Channel: channel, Enabled: true}
}

// SettingsOf returns the entity whose settings apply to the recipient. Customers have no group,
// so they share the rows of CUSTOMER/0.
func (r Recipient) SettingsOf() Entity {
	if r.UserType == Customer {
		return Entity{Type: EntityCustomer, ID: "0"}
	}
	return r.Entity
}

// Person is a recipient with a name.
type Person struct {
	UserType UserType `json:"user_type"`
	UserID   string   `json:"user_id"`
	Name     string   `json:"name"`
}

// PassedOver counts people in the directory that an event names but planning cannot reach. Their
// user type is not in user_type, or a workflow ID cannot contain their id. Only an installation's
// own directory can contain such people.
type PassedOver struct {
	Entity   Entity   // through which the event names them
	UserType UserType // as in the directory
	Known    bool     // user_type has the type, so their ids are the problem
	Count    int      // of the people that planning read
}

// String names the people and their problem, without user ids.
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
