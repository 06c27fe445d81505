package postgrestest

import (
	"time"

	"herald/internal/notification"
)

// Event is a row of event_outbox: by default event evt-1 of type T about customer 42, with
// an empty payload. Its status implies published_at and error_message.
type Event struct {
	ID            string                    `db:"event_id" default:"evt-1"`
	Type          string                    `db:"event_type" default:"T"`
	AggregateType string                    `db:"aggregate_type" default:"CUSTOMER"`
	AggregateID   string                    `db:"aggregate_id" default:"42"`
	Payload       string                    `db:"payload" default:"{}"`
	CorrelationID string                    `db:"correlation_id"`
	Source        string                    `db:"source"`
	Cancels       string                    `db:"cancels"`
	CollapseKey   string                    `db:"collapse_key"`
	ActorType     notification.UserType     `db:"actor_type"`
	ActorID       string                    `db:"actor_id"`
	Exclude       []string                  `db:"exclude"`
	Status        notification.OutboxStatus `db:"status"`
	Error         string                    `db:"error_message"`
	Attempts      int                       `db:"attempt_count"`
	CreatedAt     time.Time                 `db:"created_at"`
	PublishedAt   time.Time                 `db:"published_at"`
}

// ProcessedEvent is a row of processed_event: by default evt-1 is being processed.
type ProcessedEvent struct {
	ID        string                       `db:"event_id" default:"evt-1"`
	Status    notification.ProcessedStatus `db:"status"`
	Outcome   notification.EventOutcome    `db:"outcome"`
	Problem   string                       `db:"problem"`
	CreatedAt time.Time                    `db:"created_at"`
	UpdatedAt time.Time                    `db:"updated_at"`
}

// Decisions is a row of notification_decision: by default customer 42 gets evt-1 by e-mail.
type Decisions struct {
	EventID   string                                         `db:"event_id" default:"evt-1"`
	UserType  notification.UserType                          `db:"user_type" default:"CUSTOMER"`
	UserID    string                                         `db:"user_id" default:"42"`
	DecidedAt time.Time                                      `db:"decided_at"`
	Channels  map[notification.Channel]notification.Decision `db:"channels" default:"{\"EMAIL\": \"SELECTED\"}"`
}

// Delivery is a row of notification: by default the e-mail about evt-1 to customer 42, which
// was planned and not yet attempted. Its status implies last_error, sent_at and delivered_at.
type Delivery struct {
	ID            string                `db:"delivery_id" default:"d1"`
	EventID       string                `db:"event_id" default:"evt-1"`
	EventType     string                `db:"event_type" default:"T"`
	CorrelationID string                `db:"correlation_id"`
	UserType      notification.UserType `db:"user_type" default:"CUSTOMER"`
	UserID        string                `db:"user_id" default:"42"`
	EntityType    string                `db:"entity_type"`
	EntityID      string                `db:"entity_id"`
	Channel       notification.Channel  `db:"channel" default:"EMAIL"`
	Title         string                `db:"title" default:"title"`
	Body          string                `db:"body" default:"body"`
	URL           string                `db:"url"`
	Address       string                `db:"recipient_address"`
	Status        notification.Status   `db:"status"`
	Strategy      notification.Strategy `db:"strategy"`
	Priority      notification.Priority `db:"priority"`
	Attempts      int                   `db:"attempt_count"`
	LastError     string                `db:"last_error"`
	ReceiptFailed bool                  `db:"receipt_failed"`
	ProviderID    string                `db:"provider_message_id"`
	DigestID      string                `db:"digest_id"`
	Escalates     bool                  `db:"escalates"`
	CreatedAt     time.Time             `db:"created_at"`
	SendAfter     time.Time             `db:"send_after"`
	SentAt        time.Time             `db:"sent_at"`
	DeliveredAt   time.Time             `db:"delivered_at"`
	AvailableAt   time.Time             `db:"available_at"`
	ReadAt        time.Time             `db:"read_at"`
	ExpiresAt     time.Time             `db:"expires_at"`
}

// Attempt is a row of delivery_attempt: by default the first at d1, which has begun. Its outcome
// implies ended_at.
type Attempt struct {
	DeliveryID     string                      `db:"delivery_id" default:"d1"`
	Number         int                         `db:"attempt" default:"1"`
	StartedAt      time.Time                   `db:"started_at"`
	EndedAt        time.Time                   `db:"ended_at"`
	Outcome        notification.AttemptOutcome `db:"outcome"`
	ProviderStatus int                         `db:"provider_status"`
	Detail         string                      `db:"detail"`
}

// Retry is a row of delivery_retry: by default run r retries d1, which had failed.
type Retry struct {
	DeliveryID   string              `db:"delivery_id" default:"d1"`
	RunID        string              `db:"run_id" default:"r"`
	At           time.Time           `db:"retried_at"`
	Again        bool                `db:"again" default:"false"`
	StatusBefore notification.Status `db:"status_before" default:"FAILED"`
	ErrorBefore  string              `db:"error_before"`
	IDBefore     string              `db:"message_id_before"`
}

// Receipt is a row of delivery_receipt: by default SendGrid's receipt r1, that d1 has arrived.
type Receipt struct {
	Provider   string              `db:"provider" default:"sendgrid"`
	ID         string              `db:"receipt_id" default:"r1"`
	DeliveryID string              `db:"delivery_id" default:"d1"`
	MessageID  string              `db:"message_id"`
	At         time.Time           `db:"at" default:"now"`
	ReceivedAt time.Time           `db:"received_at"`
	Status     string              `db:"status" default:"delivered"`
	Outcome    notification.Status `db:"outcome"`
	Detail     string              `db:"detail"`
}

// FollowUp is a row of delivery_follow_up: by default a dead letter about d1.
type FollowUp struct {
	DeliveryID string                    `db:"delivery_id" default:"d1"`
	Kind       notification.FollowUpKind `db:"kind" default:"DEAD_LETTER"`
	Since      time.Time                 `db:"since"`
}

// Throttle is a row of throttle: by default e-mails about T to staff 10, which are not throttled now.
type Throttle struct {
	UserType   notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID     string                `db:"user_id" default:"10"`
	EventType  string                `db:"event_type" default:"T"`
	Channel    notification.Channel  `db:"channel_type" default:"EMAIL"`
	Key        string                `db:"throttle_key" default:""`
	DeliveryID string                `db:"delivery_id"`
	BeganAt    time.Time             `db:"began_at"`
	EndsAt     time.Time             `db:"ends_at"`
}

// Turn is a row of channel_turn: the next turn of a channel or a provider.
type Turn struct {
	Name   string    `db:"channel"`
	NextAt time.Time `db:"next_at"`
}

// EventApproval is a row of event_approval: by default evt-1 waits for an answer.
type EventApproval struct {
	EventID string `db:"event_id" default:"evt-1"`
}

// Action is a row of operator_action: by default ada retried evt-1.
type Action struct {
	At      time.Time `db:"at"`
	Actor   string    `db:"actor" default:"ada"`
	Command string    `db:"command" default:"retry"`
	Target  string    `db:"target" default:"evt-1"`
	Detail  string    `db:"detail"`
}

// SourceStart is a row of source_start: by default the first event of Herald's own outbox.
type SourceStart struct {
	Source string `db:"source" default:"herald"`
	Seq    int64  `db:"seq" default:"1"`
}

// SourceRow is a row of source_row: by default row 1 of orders, which is its event, too.
type SourceRow struct {
	Source        string    `db:"source" default:"orders"`
	Key           string    `db:"row_key" default:"1"`
	EventID       string    `db:"event_id" default:"1"`
	KeyHash       int64     `db:"key_hash"`
	Refusals      int       `db:"refusals"`
	NextAttemptAt time.Time `db:"next_attempt_at"`
	Error         string    `db:"error"`
	PeopleError   string    `db:"people_error"`
	SentAt        time.Time `db:"sent_at"`
	FailedAt      time.Time `db:"failed_at"`
	MarkedAt      time.Time `db:"marked_at"`
}

func (Event) table() string          { return "event_outbox" }
func (ProcessedEvent) table() string { return "processed_event" }
func (Decisions) table() string      { return "notification_decision" }
func (Delivery) table() string       { return "notification" }
func (Attempt) table() string        { return "delivery_attempt" }
func (Retry) table() string          { return "delivery_retry" }
func (Receipt) table() string        { return "delivery_receipt" }
func (FollowUp) table() string       { return "delivery_follow_up" }
func (EventApproval) table() string  { return "event_approval" }
func (Action) table() string         { return "operator_action" }
func (SourceStart) table() string    { return "source_start" }
func (SourceRow) table() string      { return "source_row" }
func (Turn) table() string           { return "channel_turn" }
func (Throttle) table() string       { return "throttle" }

func (e Event) implied() columns {
	switch e.Status {
	case notification.OutboxFailed:
		return columns{"error_message": "refused"}
	case notification.OutboxProcessed:
		return columns{"published_at": "now"}
	}
	return nil
}

func (d Delivery) implied() columns {
	switch d.Status {
	case notification.Sent:
		return columns{"sent_at": "now"}
	case notification.Delivered:
		return columns{"sent_at": "now", "delivered_at": "now"}
	case notification.Failed, notification.Cancelled:
		return columns{"last_error": "refused"}
	}
	return nil
}

func (a Attempt) implied() columns {
	if a.Outcome == "" {
		return nil
	}
	return columns{"ended_at": "now"}
}
