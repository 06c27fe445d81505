package outbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrDuplicateID means that event_outbox already has an event with this id. A service that writes
// the same event twice gets this error the second time.
var ErrDuplicateID = errors.New("there is an event with this id already")

// RefusedError means that event_outbox refuses an event. A retry of the same event fails too.
type RefusedError struct {
	Why string // the reason in plain words; has no values of the event, unless encoding its payload failed
	Err error  // the cause, such as [ErrDuplicateID]
}

func (e *RefusedError) Error() string { return "event_outbox refuses the event: " + e.Why }

func (e *RefusedError) Unwrap() error { return e.Err }

// errLateExpiry is why an expiry in a year that JSON cannot write is refused.
const errLateExpiry = "expires_at is after 9999, in UTC: leave it out for an event that never expires"

// refusedConstraints explains the constraints of event_outbox, by name.
var refusedConstraints = map[string]string{
	"event_outbox_event_id_length":          "an event id has 1 to 150 bytes",
	"event_outbox_event_id_printable":       "an event id has no control characters",
	"event_outbox_aggregate_type_given":     "aggregate_type is null, but an event needs an aggregate type",
	"event_outbox_aggregate_id_given":       "aggregate_id is null, but an event needs an aggregate id",
	"event_outbox_payload_given":            "payload is null, but an event needs a payload",
	"event_outbox_event_type_length":        "an event type has 1 to 100 bytes",
	"event_outbox_aggregate_type_length":    "an aggregate type has 1 to 100 bytes",
	"event_outbox_aggregate_id_length":      "an aggregate id has 1 to 100 bytes",
	"event_outbox_correlation_id_length":    "a correlation id has at most 255 bytes",
	"event_outbox_event_type_printable":     "an event type has no control characters",
	"event_outbox_aggregate_type_printable": "an aggregate type has no control characters",
	"event_outbox_aggregate_id_printable":   "an aggregate id has no control characters",
	"event_outbox_correlation_id_printable": "a correlation id has no control characters",
	"event_outbox_cancels_length":           "the id of an event to cancel has 1 to 150 bytes",
	"event_outbox_cancels_printable":        "the id of an event to cancel has no control characters",
	"event_outbox_cancels_another":          "an event cannot cancel itself",
	"event_outbox_collapse_key":             "a collapse key has 1 to 150 bytes and no control characters",
	"event_outbox_traceparent":              "a traceparent has at most 100 bytes and no control characters",
	"event_outbox_actor":                    "actor_type and actor_id come together: 1 to 100 bytes, printable, no / in the type",
	"event_outbox_exclude":                  "exclude has at most 100 texts such as RESTAURANT_USER/10, and 10,000 bytes",
	"event_outbox_cancels_types":            "cancels_types needs cancels",
	"event_outbox_created_at":               "created_at is before 1970 or after 9999, in UTC",
	"event_outbox_expires_at":               errLateExpiry,
	"event_outbox_payload_object":           "the payload is not a JSON object",
	"event_outbox_payload_size":             "the payload is larger than 256 KiB",
}

// SQLSTATE codes of values that no column accepts, and the classes of all such codes.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	invalidText     = "22P02"
	untranslatable  = "22P05"
	notInRepertoire = "22021"
	outOfRange      = "22003"
	timeOutOfRange  = "22008"

	dataException        = "22"
	programLimitExceeded = "54"
)

// RefusesValue reports whether the database refused a value that a statement tried to store or
// compare. The same value fails again.
func RefusesValue(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) &&
		(strings.HasPrefix(refused.Code, dataException) || strings.HasPrefix(refused.Code, programLimitExceeded))
}

// refusal returns err as a [*RefusedError] if the table refused an event.
func refusal(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return fmt.Errorf("insert into event_outbox: %w", err)
	}
	if refused.ConstraintName == "event_outbox_pkey" {
		return &RefusedError{Why: ErrDuplicateID.Error(), Err: fmt.Errorf("%w: %w", ErrDuplicateID, err)}
	}
	if why := whyRefused(refused); why != "" {
		return &RefusedError{Why: why, Err: err}
	}
	return fmt.Errorf("insert into event_outbox: %w", err)
}

// whyRefused returns the reason why the table refuses an event; "" for any other error.
func whyRefused(err *pgconn.PgError) string {
	switch err.Code {
	case invalidText:
		return "the payload is not JSON as Postgres knows it"
	case untranslatable, notInRepertoire:
		return `a value holds a character that Postgres cannot store, such as \u0000`
	case outOfRange:
		return "the payload holds a number that is too large or too small for Postgres"
	case timeOutOfRange:
		return "a time is outside what Postgres can store"
	}
	switch {
	case strings.HasPrefix(err.Code, programLimitExceeded):
		return "the payload is too large or too deep"
	case strings.HasPrefix(err.Code, dataException):
		return "Postgres cannot store a value: SQLSTATE " + err.Code
	}
	if err.ConstraintName == "" {
		return ""
	}
	if why, known := refusedConstraints[err.ConstraintName]; known {
		return why
	}
	return "constraint " + err.ConstraintName
}
