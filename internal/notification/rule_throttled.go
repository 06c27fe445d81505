package notification

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// DecisionThrottled means that the recipient got another event of the type, with the same key, over
// the channel a short time before. It also applies to mandatory channels.
const DecisionThrottled Decision = "THROTTLED"

var throttled = rule{
	decision: DecisionThrottled,
	applies:  func(f Facts) bool { return f.throttledBy().DeliveryID != "" },
	meaning:  "another event of the type with the same key had gone over {channel} within throttle_window",
	remedy:   "shorten throttle_window (event_type_channel_routing), or set throttle_key_path to a value that differs",
	subject:  "throttle",
	fact: func(f Facts) string {
		switch last := f.throttledBy(); {
		case f.Routing.ThrottleWindow == 0:
			return "none"
		case last.DeliveryID == "":
			return fmt.Sprintf("no other event within %s", f.Routing.ThrottleWindow)
		default:
			return fmt.Sprintf("%s was planned within %s, at %s", last.DeliveryID, f.Routing.ThrottleWindow,
				WallText(last.At, f.Now, f.Recipient.Timezone))
		}
	},
	settled: true, // a delivery that waits is the first of its window
}

// ThrottleKey names the events that share one window of a recipient and a channel.
type ThrottleKey struct {
	UserType UserType `json:"user_type"`
	UserID   string   `json:"user_id"`
	Channel  Channel  `json:"channel_type"`
	Key      string   `json:"throttle_key"` // a hash of a value in the payload; empty: none
}

// Throttle is the last delivery for a key.
type Throttle struct {
	ThrottleKey
	DeliveryID string    `json:"delivery_id"` // empty: none, or it ended unsent
	At         time.Time `json:"-"`           // when it was planned

	Window time.Duration `json:"window"` // throttle_window of the route; only set to store the delivery
}

// throttledBy returns the other delivery that stops this one. Without a DeliveryID, none does. An
// event that was purged has no delivery to compare with.
func (f Facts) throttledBy() Throttle {
	if last := f.lastOf(f.Routing.ThrottleKey); f.DeliveryID != "" && f.Now.Before(last.At.Add(f.Routing.ThrottleWindow)) {
		return last
	}
	return Throttle{}
}

// lastOf returns the recipient's last delivery for a key, without this one.
func (f Facts) lastOf(key string) Throttle {
	for _, last := range f.Recipient.Throttles {
		if last.Channel == f.Routing.Channel && last.Key == key && last.DeliveryID != f.DeliveryID {
			return last
		}
	}
	return Throttle{}
}

// AddThrottles gives each person their last deliveries.
func AddThrottles(people []Recipient, last []Throttle) {
	of := map[RecipientKey][]Throttle{}
	for _, t := range last {
		if t.DeliveryID != "" {
			key := RecipientKey{UserType: t.UserType, UserID: t.UserID}
			of[key] = append(of[key], t)
		}
	}
	for i := range people {
		people[i].Throttles = of[RecipientKey{UserType: people[i].UserType, UserID: people[i].UserID}]
	}
}

// ThrottleKeys returns the rows of throttle that the event's deliveries to people may have.
func (s EventSetup) ThrottleKeys(people []Recipient) []Throttle {
	var keys []Throttle
	for _, route := range s.Routing {
		for _, person := range people {
			if key := s.ThrottleKey(person, route.Channel); key != nil {
				keys = append(keys, *key)
			}
		}
	}
	return keys
}

// ThrottleKey returns the row of throttle of the event's delivery to a person; nil: no throttle window
// limits the channel.
func (s EventSetup) ThrottleKey(person Recipient, channel Channel) *Throttle {
	route, _ := s.Route(channel)
	key, window := route.Throttle()
	if window == 0 {
		return nil
	}
	return &Throttle{
		ThrottleKey: ThrottleKey{UserType: person.UserType, UserID: person.UserID, Channel: channel, Key: key},
		DeliveryID:  DeliveryID(s.Event.ID, person.Who, person.UserID, channel), Window: window,
	}
}

// Throttle returns the key of the route's row in throttle, and the longest time for which it
// counts; 0: there is none.
func (r Routing) Throttle() (key string, window time.Duration) {
	switch {
	case r.ThrottleWindow > 0:
		return r.ThrottleKey, r.ThrottleWindow
	case r.Strategy == Aggregate && r.DigestFirst:
		return FirstOfDigest, max(r.DigestWindow, longestDigest)
	default:
		return "", 0
	}
}

// throttleKey returns a hash of the first value that the payload has at the paths; empty: none.
func (r Routing) throttleKey(payload any) string {
	for _, path := range splitPaths(r.ThrottleKeyPath) {
		value := valueAt(payload, path)
		if value == nil || value == "" {
			continue
		}
		text, _ := json.Marshal(value) // the value came from JSON
		hash := sha256.Sum256(text)
		return hex.EncodeToString(hash[:16])
	}
	return ""
}
