package postgrestest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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

// Event is a row of event_outbox: by default event evt-1 of type T about customer 42, with
// an empty payload. Its status FAILED implies error_message.
type Event struct {
	ID            string                    `db:"event_id"`
	Type          string                    `db:"event_type"`
	AggregateType string                    `db:"aggregate_type"`
	AggregateID   string                    `db:"aggregate_id"`
	Payload       string                    `db:"payload"`
	CorrelationID string                    `db:"correlation_id"`
	Cancels       string                    `db:"cancels"`
	CollapseKey   string                    `db:"collapse_key"`
	Status        notification.OutboxStatus `db:"status"`
}

// Route is a row of event_type_channel_routing: by default T by e-mail, at once.
type Route struct {
	EventType string `db:"event_type"`
}

// Delivery is a row of notification: by default the e-mail about evt-1 to customer 42, which
// was planned and not yet attempted. Its status implies last_error, sent_at and delivered_at.
type Delivery struct {
	ID        string               `db:"delivery_id"`
	EventID   string               `db:"event_id"`
	EventType string               `db:"event_type"`
	UserID    string               `db:"user_id"`
	Channel   notification.Channel `db:"channel"`
	Title     string               `db:"title"`
	Body      string               `db:"body"`
	Address   string               `db:"recipient_address"`
	Status    notification.Status  `db:"status"`
	LastError string               `db:"last_error"`
}

type columns = map[string]any

func (Recipient) insert() (string, columns) {
	return "recipient", columns{"user_type": notification.Customer, "user_id": "42"}
}

func (e Event) insert() (string, columns) {
	values := columns{"event_id": "evt-1", "event_type": "T", "aggregate_type": "CUSTOMER", "aggregate_id": "42", "payload": "{}"}
	if e.Status == notification.OutboxFailed {
		values["error_message"] = "refused"
	}
	return "event_outbox", values
}

func (Route) insert() (string, columns) {
	return "event_type_channel_routing", columns{"event_type": "T", "channel_type": notification.Email}
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

// Add inserts rows, in their order.
func Add(t testing.TB, db *pgxpool.Pool, rows ...Row) {
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
