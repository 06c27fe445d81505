package notification

import "time"

// StuckEvent is an event that has been PROCESSING for a long time.
type StuckEvent struct {
	PendingEvent
	Restarts   int  // number of restarts by the sweep
	Restarting bool // a promotion of workers ended its workflow and will restart it
	Purged     bool // its row in event_outbox is gone, so it cannot be planned
}

// StuckDelivery is a delivery that has been PENDING for a long time.
type StuckDelivery struct {
	Delivery
	ID        int64 // notification.id
	EventID   string
	EventType string
	Aggregate Entity // zero: the event's row was purged
	CreatedAt time.Time
	Restarts  int // number of restarts by the sweep
}

// Sweep is the result of one sweep. The zero value: no sweep has run.
type Sweep struct {
	At           time.Time `json:"at,omitzero"`
	Looked       int       `json:"looked"` // events and deliveries whose workflow it looked up
	StartedAgain int       `json:"started_again"`
	Closed       int       `json:"closed"` // CANCELLED, because an operator ended the workflow
	Failed       int       `json:"failed"` // restarted up to the limit without success

	AfterEvent        string `json:"after_event,omitempty"`        // where the next sweep continues; empty: at the beginning
	AfterNotification int64  `json:"after_notification,omitempty"` // 0: at the beginning

	AfterWaitingEvent string `json:"after_waiting_event,omitempty"` // for events that wait by design; empty: at the beginning
}
