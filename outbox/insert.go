package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Event is something that happened: a row of event_outbox.
type Event struct {
	ID            string // chosen by the service, at most 150 bytes; a second event with the same id is refused
	Type          string // what happened, at most 100 bytes: ORDER_PLACED
	AggregateType string // type of the thing that it happened to, at most 100 bytes: RESTAURANT
	AggregateID   string // at most 100 bytes
	Payload       any    // encoded by encoding/json as a JSON object of at most 256 KiB; a json.RawMessage is already encoded
	CorrelationID string // copied to messages and histories, at most 255 bytes; empty if none
	Cancels       string // id of an event whose unsent messages to cancel, even if it is inserted later; empty if none

	CancelsTypes []string // types that the event in Cancels may have, or it is not cancelled; nil: every type

	ExpiresAt   time.Time // no message is sent from this time on; zero: no limit; after 9999 in UTC: refused
	CollapseKey string    // the event replaces older events of its type with the same key, at most 150 bytes; empty: it replaces none
	Traceparent string    // the service's W3C traceparent: Herald's spans continue its trace, at most 100 bytes; empty: none

	// The person whose act caused the event is not told about it, unless the event names them as CUSTOMER. Both empty: unknown.
	ActorType string   // their user_type
	ActorID   string   // their user_id
	Exclude   []string // more people who are not told, at most 100, by user_type and user_id: RESTAURANT_USER/10
}

// maxRows is the maximum number of events in one statement: Postgres accepts 65,535 parameters.
const maxRows = 1000

// Insert writes events in tx, which is a pgx.Tx, a [*sql.Tx], or a type that embeds
// one of them. Any other type is an error. So is a pool: it would commit the event
// without the service's rows.
//
// The error is a [*RefusedError] if an event cannot be encoded, or if event_outbox
// refuses it. A [*sql.Tx] reports refusals only with the driver pgx; with another driver
// the error wraps the driver's error. After any error, roll the transaction back.
func Insert(ctx context.Context, tx any, events ...Event) error {
	exec, err := execIn(tx)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(events, maxRows) {
		query, values, err := insertion(batch)
		if err != nil {
			return err
		}
		if err := exec(ctx, query, values...); err != nil {
			return refusal(err)
		}
	}
	return nil
}

// execIn returns the function that runs a statement in tx.
func execIn(tx any) (func(ctx context.Context, query string, values ...any) error, error) {
	switch tx := tx.(type) {
	case interface {
		Exec(ctx context.Context, query string, values ...any) (pgconn.CommandTag, error)
		Rollback(ctx context.Context) error
	}:
		return func(ctx context.Context, query string, values ...any) error {
			_, err := tx.Exec(ctx, query, values...)
			return err
		}, nil
	case interface {
		ExecContext(ctx context.Context, query string, values ...any) (sql.Result, error)
		Rollback() error
	}:
		return func(ctx context.Context, query string, values ...any) error {
			_, err := tx.ExecContext(ctx, query, values...)
			return err
		}, nil
	}
	return nil, fmt.Errorf("insert into event_outbox: %T is not a transaction: pass a pgx.Tx or a *sql.Tx", tx)
}

// optionalColumn is a column that a statement names only if an event has a value: a producer's
// role may lack the right to write it.
type optionalColumn struct {
	name, placeholder string
	value             func(Event) any
	isSet             func(Event) bool
}

var optionalColumns = []optionalColumn{
	optionalText("cancels", func(e Event) string { return e.Cancels }),
	{
		"cancels_types", textArray,
		func(e Event) any { return jsonList(e.CancelsTypes) },
		func(e Event) bool { return e.CancelsTypes != nil },
	},
	{
		"expires_at", "$%d::timestamptz",
		func(e Event) any { return sql.NullTime{Time: notBefore1970(e.ExpiresAt), Valid: !e.ExpiresAt.IsZero()} },
		func(e Event) bool { return !e.ExpiresAt.IsZero() },
	},
	optionalText("collapse_key", func(e Event) string { return e.CollapseKey }),
	optionalText("traceparent", func(e Event) string { return e.Traceparent }),
	optionalText("actor_type", func(e Event) string { return e.ActorType }),
	optionalText("actor_id", func(e Event) string { return e.ActorID }),
	{
		"exclude", textArray,
		func(e Event) any { return jsonList(e.Exclude) },
		func(e Event) bool { return len(e.Exclude) > 0 },
	},
}

// textArray makes an array of a [jsonList].
const textArray = "CASE WHEN $%[1]d::text <> '' THEN ARRAY (SELECT jsonb_array_elements_text($%[1]d::text::jsonb)) END"

// jsonList returns texts as a JSON list; empty: null.
func jsonList(texts []string) string {
	if texts == nil {
		return ""
	}
	list, _ := json.Marshal(texts) // texts can always be encoded
	return string(list)
}

// notBefore1970 returns 1970 for an earlier time: a driver cannot encode all of them, and all have
// passed.
func notBefore1970(at time.Time) time.Time {
	if at.Unix() < 0 {
		return time.Unix(0, 0)
	}
	return at
}

func optionalText(name string, value func(Event) string) optionalColumn {
	return optionalColumn{name, "nullif($%d::text, '')", func(e Event) any { return value(e) }, func(e Event) bool { return value(e) != "" }}
}

// insertion returns the statement that writes events, with its values.
func insertion(events []Event) (query string, values []any, err error) {
	columns := "event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id"
	var optional []optionalColumn
	for _, column := range optionalColumns {
		if slices.ContainsFunc(events, column.isSet) {
			columns += ", " + column.name
			optional = append(optional, column)
		}
	}
	rows := make([]string, 0, len(events))
	for _, e := range events {
		payload, err := json.Marshal(e.Payload)
		if err != nil {
			return "", nil, &RefusedError{Why: "the payload cannot be encoded: " + err.Error(), Err: err}
		}
		if e.ExpiresAt.UTC().Year() > 9999 { // a driver cannot encode all of them
			return "", nil, &RefusedError{Why: errLateExpiry}
		}
		n := len(values)
		row := fmt.Sprintf("$%d, $%d, $%d, $%d, $%d::text::jsonb, nullif($%d::text, '')", n+1, n+2, n+3, n+4, n+5, n+6)
		values = append(values, e.ID, e.Type, e.AggregateType, e.AggregateID, string(payload), e.CorrelationID)
		for _, column := range optional {
			values = append(values, column.value(e))
			row += fmt.Sprintf(", "+column.placeholder, len(values))
		}
		rows = append(rows, "("+row+")")
	}
	return "INSERT INTO event_outbox (" + columns + ") VALUES " + strings.Join(rows, ", "), values, nil
}
