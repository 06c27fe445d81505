package notification

import (
	"encoding/json"
	"time"
)

// DeadLetter is a delivery that was given up, as the queue of dead letters and
// its consumers know it.
type DeadLetter struct {
	DeliveryID    string    `json:"delivery_id"`
	EventID       string    `json:"event_id"`
	CorrelationID string    `json:"correlation_id,omitempty"` // the event's
	Channel       Channel   `json:"channel"`
	UserType      UserType  `json:"user_type"`
	UserID        string    `json:"user_id"`
	Reason        string    `json:"reason"` // never an address or a text
	Attempts      int       `json:"attempts"`
	FailedAt      time.Time `json:"failed_at"` // written in UTC, to the second
}

// MarshalJSON writes the time as RFC 3339 in UTC, without fractions of a second.
func (d DeadLetter) MarshalJSON() ([]byte, error) {
	type plain DeadLetter
	d.FailedAt = d.FailedAt.UTC().Truncate(time.Second)
	return json.Marshal(plain(d))
}
