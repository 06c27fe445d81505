package notification

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
