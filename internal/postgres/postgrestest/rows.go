package postgrestest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Row is a row of a table, such as [Recipient] or [Event]. A field that is zero takes the
// default in its comment, or the column's default. The defaults fit together: event evt-1 of
// type T is about customer 42, and the route of T is e-mail.
type Row interface {
	// insert returns the table, and defaults for columns that have none or get a better one.
	insert() (table string, defaults map[string]any)
}

// Recipient is a row of recipient: by default customer 42, without an address.
type Recipient struct {
	UserType notification.UserType `db:"user_type"`
	UserID   string                `db:"user_id"`
	Name     string                `db:"name"`
	Email    string                `db:"email"`
	Phone    string                `db:"phone"`
	Slack    string                `db:"slack_webhook_url"`
	Locale   string                `db:"locale"`
	Timezone string                `db:"timezone"`
	Inactive bool                  `db:"!active"`
}

// Device is a row of recipient_device: by default the device "token" of customer 42.
type Device struct {
	UserType notification.UserType `db:"user_type"`
	UserID   string                `db:"user_id"`
	Token    string                `db:"token"`
	Inactive bool                  `db:"!active"`
}

// Member is a row of entity_member: by default staff 10 of restaurant 5. [Add] also inserts
// the recipient, if it does not exist.
type Member struct {
	EntityType string                `db:"entity_type"`
	EntityID   string                `db:"entity_id"`
	UserType   notification.UserType `db:"user_type"`
	UserID     string                `db:"user_id"`
	Role       string                `db:"role"`
	Inactive   bool                  `db:"!active"`
}

// Event is a row of event_outbox: by default event evt-1 of type T about customer 42, with
// an empty payload. Its status implies published_at and error_message.
type Event struct {
	ID            string                    `db:"event_id"`
	Type          string                    `db:"event_type"`
	AggregateType string                    `db:"aggregate_type"`
	AggregateID   string                    `db:"aggregate_id"`
	Payload       string                    `db:"payload"`
	CorrelationID string                    `db:"correlation_id"`
	Source        string                    `db:"source"`
	Cancels       string                    `db:"cancels"`
	CollapseKey   string                    `db:"collapse_key"`
	Status        notification.OutboxStatus `db:"status"`
	CreatedAt     time.Time                 `db:"created_at"`
	ExpiresAt     time.Time                 `db:"expires_at"`
}

// Route is a row of event_type_channel_routing: by default T by e-mail, at once.
type Route struct {
	EventType        string                `db:"event_type"`
	Channel          notification.Channel  `db:"channel_type"`
	Mandatory        bool                  `db:"mandatory"`
	Strategy         notification.Strategy `db:"delivery_strategy"`
	Delay            time.Duration         `db:"delay"`
	DigestWindow     time.Duration         `db:"digest_window"`
	QuietHours       string                `db:"quiet_hours_action"`
	Priority         notification.Priority `db:"priority"`
	SendAtPath       string                `db:"send_at_path"`
	SendBefore       time.Duration         `db:"send_before"`
	SkipIfPast       bool                  `db:"skip_if_past"`
	OnEscalationOnly bool                  `db:"on_escalation_only"`
	Roles            []string              `db:"roles"`
	ExpiresAfter     time.Duration         `db:"expires_after"`
	ThrottleWindow   time.Duration         `db:"throttle_window"`
}

// Audience is a row of event_type_recipients: by default everybody, for events of type T.
type Audience struct {
	EventType    string                `db:"event_type"`
	UserType     notification.UserType `db:"user_type"`
	EntityType   string                `db:"entity_type"`
	EntityIDPath string                `db:"entity_id_path"`
	Roles        []string              `db:"roles"`
}

// Template is a row of notification_template: by default the English text of all messages.
type Template struct {
	EventType string               `db:"event_type"`
	Channel   notification.Channel `db:"channel"`
	Locale    string               `db:"locale"`
	Title     string               `db:"title"`
	Body      string               `db:"body"`
}

// Delivery is a row of notification: by default the e-mail about evt-1 to customer 42, which
// was planned and not yet attempted. Its status implies last_error, sent_at and delivered_at.
type Delivery struct {
	ID         string                `db:"delivery_id"`
	EventID    string                `db:"event_id"`
	EventType  string                `db:"event_type"`
	UserType   notification.UserType `db:"user_type"`
	UserID     string                `db:"user_id"`
	EntityType string                `db:"entity_type"`
	EntityID   string                `db:"entity_id"`
	Channel    notification.Channel  `db:"channel"`
	Title      string                `db:"title"`
	Body       string                `db:"body"`
	Address    string                `db:"recipient_address"`
	Status     notification.Status   `db:"status"`
	Strategy   notification.Strategy `db:"strategy"`
	DigestID   string                `db:"digest_id"`
	LastError  string                `db:"last_error"`
	Attempts   int                   `db:"attempt_count"`
	CreatedAt  time.Time             `db:"created_at"`
	SendAfter  time.Time             `db:"send_after"`
	ReadAt     time.Time             `db:"read_at"`
}

type columns = map[string]any

func (Recipient) insert() (string, columns) {
	return "recipient", columns{"user_type": notification.Customer, "user_id": "42"}
}

func (Device) insert() (string, columns) {
	return "recipient_device", columns{"user_type": notification.Customer, "user_id": "42", "token": "token"}
}

func (Member) insert() (string, columns) {
	return "entity_member", columns{"entity_type": "RESTAURANT", "entity_id": "5", "user_type": notification.RestaurantUser, "user_id": "10", "role": "STAFF"}
}

func (e Event) insert() (string, columns) {
	values := columns{"event_id": "evt-1", "event_type": "T", "aggregate_type": "CUSTOMER", "aggregate_id": "42", "payload": "{}"}
	switch e.Status {
	case notification.OutboxProcessed:
		values["published_at"] = time.Now()
	case notification.OutboxFailed:
		values["error_message"] = "refused"
	}
	return "event_outbox", values
}

func (Route) insert() (string, columns) {
	return "event_type_channel_routing", columns{"event_type": "T", "channel_type": notification.Email}
}

func (Audience) insert() (string, columns) {
	return "event_type_recipients", columns{"event_type": "T", "entity_type": "BROADCAST"}
}

func (Template) insert() (string, columns) {
	return "notification_template", columns{"title": "title", "body": "body"}
}

func (d Delivery) insert() (string, columns) {
	values := columns{"event_id": "evt-1", "event_type": "T", "user_type": notification.Customer, "user_id": "42", "channel": notification.Email, "delivery_id": "d1", "title": "title", "body": "body"}
	switch d.Status {
	case notification.Sent:
		values["sent_at"] = time.Now()
	case notification.Delivered:
		values["sent_at"], values["delivered_at"] = time.Now(), time.Now()
	case notification.Failed, notification.Cancelled:
		values["last_error"] = "refused"
	}
	return "notification", values
}

// Executor is a pool, a connection or a transaction.
type Executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Add inserts rows, in their order.
func Add(t testing.TB, db Executor, rows ...Row) {
	t.Helper()
	for _, row := range rows {
		table, values := row.insert()
		setFields(values, reflect.ValueOf(row))
		names := slices.Sorted(maps.Keys(values))
		var places []string
		var args []any
		for i, name := range names {
			places, args = append(places, fmt.Sprint("$", i+1)), append(args, values[name])
		}
		if table == "entity_member" {
			_, err := db.Exec(t.Context(), "INSERT INTO recipient (user_type, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING", values["user_type"], values["user_id"])
			require.NoError(t, err)
		}
		_, err := db.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(places, ", ")), args...)
		require.NoError(t, err)
	}
}

// setFields sets the columns of a row's fields that are not zero.
func setFields(values columns, row reflect.Value) {
	for i := range row.NumField() {
		if row.Field(i).IsZero() {
			continue
		}
		name, negated := strings.CutPrefix(row.Type().Field(i).Tag.Get("db"), "!")
		if values[name] = row.Field(i).Interface(); negated {
			values[name] = false
		}
	}
}
