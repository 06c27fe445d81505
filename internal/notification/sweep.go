package notification

import "time"

// StuckEvent is an event that has been PROCESSING for long.
type StuckEvent struct {
	PendingEvent
	Restarts   int  // how often the sweep has started it again
	Restarting bool // a promotion of workers has ended its workflow, to start it again
	Purged     bool // its row in event_outbox is gone, so that it cannot be planned
}

// StuckDelivery is a delivery that has been PENDING for long.
type StuckDelivery struct {
	Delivery
	ID        int64 // notification.id
	EventID   string
	EventType string
	Aggregate Entity // zero: the event's row was purged
	CreatedAt time.Time
	Restarts  int // how often the sweep has started it again
}

// Sweep is what one sweep found. The zero value: there was none yet.
type Sweep struct {
	At           time.Time `json:"at,omitzero"`
	Looked       int       `json:"looked"` // events and deliveries whose workflow was asked for
	StartedAgain int       `json:"started_again"`
	Closed       int       `json:"closed"` // CANCELLED, since an operator had ended the workflow
	Failed       int       `json:"failed"` // started again as often as allowed, without an end

	AfterEvent        string `json:"after_event,omitempty"`        // where the next one goes on; empty: from the beginning
	AfterNotification int64  `json:"after_notification,omitempty"` // 0: from the beginning

	AfterWaitingEvent string `json:"after_waiting_event,omitempty"` // of the events that wait by design; empty: from the beginning
}
