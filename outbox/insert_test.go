package outbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/outbox"
)

func order(id string) outbox.Event {
	return outbox.Event{
		ID: id, Type: "ORDER_PLACED", AggregateType: "CUSTOMER", AggregateID: "7",
		Payload: map[string]any{"orderId": 1}, CorrelationID: "c-1",
	}
}

// inserters write events in each kind of transaction, and commit unless Insert fails.
var inserters = map[string]func(ctx context.Context, s *db.DB, events ...outbox.Event) error{
	"pgx": func(ctx context.Context, s *db.DB, events ...outbox.Event) error {
		return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return outbox.Insert(ctx, tx, events...) })
	},
	"database/sql": func(ctx context.Context, s *db.DB, events ...outbox.Event) error {
		return inSQL(ctx, s, func(tx *sql.Tx) error { return outbox.Insert(ctx, tx, events...) })
	},
	"embedded": func(ctx context.Context, s *db.DB, events ...outbox.Event) error {
		return inSQL(ctx, s, func(tx *sql.Tx) error { return outbox.Insert(ctx, struct{ *sql.Tx }{tx}, events...) })
	},
}

func inSQL(ctx context.Context, s *db.DB, f func(*sql.Tx) error) error {
	db := stdlib.OpenDBFromPool(s.Pool)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// written returns the rows of event_outbox in the order of insertion.
func written(t *testing.T, s *db.DB) []string {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `
		SELECT concat_ws(' ', event_id, event_type, aggregate_type, aggregate_id, payload, coalesce(correlation_id, 'null'), status)
		FROM   event_outbox
		ORDER BY seq`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return found
}

func TestInsert(t *testing.T) {
	t.Parallel()

	for name, insert := range inserters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			raw := order("evt-2")
			raw.Payload, raw.CorrelationID = json.RawMessage(`{"b": 1, "a": "<&>"}`), ""

			require.NoError(t, insert(t.Context(), s, order("evt-1"), raw))

			require.Equal(t, []string{
				`evt-1 ORDER_PLACED CUSTOMER 7 {"orderId": 1} c-1 PENDING`,
				`evt-2 ORDER_PLACED CUSTOMER 7 {"a": "<&>", "b": 1} null PENDING`,
			}, written(t, s))
		})
	}
}

func TestInsertOfNoneAndOfMany(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, inserters["pgx"](t.Context(), s))
	require.Empty(t, written(t, s))

	events := make([]outbox.Event, 2500)
	for i := range events {
		events[i] = order(fmt.Sprint("evt-", i))
	}
	require.NoError(t, inserters["pgx"](t.Context(), s, events...))
	require.Len(t, written(t, s), len(events))
}

// A transaction that rolls back leaves no event.
func TestInsertRolledBack(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	errPayment := errors.New("the card was refused")
	err := pgx.BeginFunc(t.Context(), s.Pool, func(tx pgx.Tx) error {
		require.NoError(t, outbox.Insert(t.Context(), tx, order("evt-1")))
		return errPayment
	})
	require.ErrorIs(t, err, errPayment)
	err = inSQL(t.Context(), s, func(tx *sql.Tx) error {
		require.NoError(t, outbox.Insert(t.Context(), tx, order("evt-2")))
		return errPayment
	})
	require.ErrorIs(t, err, errPayment)
	require.Empty(t, written(t, s))
}

func TestInsertRefused(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, inserters["pgx"](t.Context(), s, order("evt-known")))
	tests := []struct {
		name  string
		spoil func(*outbox.Event)
		why   string
	}{
		{name: "known id", spoil: func(e *outbox.Event) { e.ID = "evt-known" }, why: "there is an event with this id already"},
		{name: "no id", spoil: func(e *outbox.Event) { e.ID = "" }, why: "an event id has 1 to 150 bytes"},
		{name: "long id", spoil: func(e *outbox.Event) { e.ID = strings.Repeat("x", 151) }, why: "an event id has 1 to 150 bytes"},
		{name: "control character in the id", spoil: func(e *outbox.Event) { e.ID = "evt\n1" }, why: "an event id has no control characters"},
		{name: "no type", spoil: func(e *outbox.Event) { e.Type = "" }, why: "an event type has 1 to 100 bytes"},
		{name: "no aggregate type", spoil: func(e *outbox.Event) { e.AggregateType = "" }, why: "an aggregate type has 1 to 100 bytes"},
		{name: "no aggregate id", spoil: func(e *outbox.Event) { e.AggregateID = "" }, why: "an aggregate id has 1 to 100 bytes"},
		{name: "long correlation id", spoil: func(e *outbox.Event) { e.CorrelationID = strings.Repeat("x", 256) },
			why: "a correlation id has at most 255 bytes"},
		{name: "long traceparent", spoil: func(e *outbox.Event) { e.Traceparent = strings.Repeat("x", 101) },
			why: "a traceparent has at most 100 bytes and no control characters"},
		{name: "itself cancelled", spoil: func(e *outbox.Event) { e.Cancels = e.ID }, why: "an event cannot cancel itself"},
		{name: "a long id cancelled", spoil: func(e *outbox.Event) { e.Cancels = strings.Repeat("x", 151) },
			why: "the id of an event to cancel has 1 to 150 bytes"},
		{name: "zero byte", spoil: func(e *outbox.Event) { e.CorrelationID = "a\x00" },
			why: "a value holds a character that Postgres cannot store"},
		{name: "no payload", spoil: func(e *outbox.Event) { e.Payload = nil }, why: "the payload is not a JSON object"},
		{name: "bytes", spoil: func(e *outbox.Event) { e.Payload = []byte(`{}`) }, why: "the payload is not a JSON object"},
		{name: "list", spoil: func(e *outbox.Event) { e.Payload = []int{1} }, why: "the payload is not a JSON object"},
		{name: "large payload", spoil: func(e *outbox.Event) { e.Payload = map[string]string{"a": strings.Repeat("x", 256<<10)} },
			why: "the payload is larger than 256 KiB"},
		{name: "zero character", spoil: func(e *outbox.Event) { e.Payload = json.RawMessage(`{"a":"\u0000"}`) },
			why: "a value holds a character that Postgres cannot store"},
		{name: "no JSON", spoil: func(e *outbox.Event) { e.Payload = json.RawMessage(`{"a":}`) }, why: "the payload cannot be encoded"},
		{name: "a number over numeric", spoil: func(e *outbox.Event) { e.Payload = json.RawMessage(`{"n": 1e131072}`) },
			why: "the payload holds a number that is too large or too small"},
		{name: "a number under numeric", spoil: func(e *outbox.Event) { e.Payload = json.RawMessage(`{"n": -1E+999999}`) },
			why: "the payload holds a number that is too large or too small"},
		{name: "many digits", spoil: func(e *outbox.Event) { e.Payload = json.RawMessage(`{"n": 0.` + strings.Repeat("1", 20000) + `}`) },
			why: "the payload holds a number that is too large or too small"},
		{name: "expires in year 10000",
			spoil: func(e *outbox.Event) { e.ExpiresAt = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)) },
			why:   "expires_at is after 9999"},
		{name: "expires beyond all times", spoil: func(e *outbox.Event) { e.ExpiresAt = time.Unix(1<<60, 0) }, why: "expires_at is after 9999"},
		{name: "types without an event to cancel", spoil: func(e *outbox.Event) { e.CancelsTypes = []string{"T"} },
			why: "cancels_types needs cancels"},
		{name: "what JSON cannot say", spoil: func(e *outbox.Event) { e.Payload = func() {} }, why: "the payload cannot be encoded"},
	}
	for _, tt := range tests {
		for name, insert := range inserters {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()

				event := order("evt-spoilt")
				tt.spoil(&event)
				err := insert(t.Context(), s, order("evt-neighbour"), event)

				var refused *outbox.RefusedError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Why, tt.why)
				require.ErrorContains(t, err, "event_outbox refuses the event: "+tt.why)
				require.Equal(t, tt.name == "known id", errors.Is(err, outbox.ErrDuplicateID))
			})
		}
	}
	t.Cleanup(func() {
		var count int
		require.NoError(t, s.Pool.QueryRow(context.Background(), "SELECT count(*) FROM event_outbox").Scan(&count))
		require.Equal(t, 1, count, "all or none")
	})
}

// Every code that means that Postgres cannot store a value is a refusal, whichever value it is.
func TestEveryRefusedValueIsARefusal(t *testing.T) {
	t.Parallel()

	for code, refused := range map[string]bool{
		"22000": true, "22001": true, "22003": true, "22008": true, "22021": true, "22023": true, "22P02": true, "22P05": true, "22030": true,
		"22032": true,
		"54000": true, "54001": true, "54011": true, "54023": true,
		"25006": false, "40001": false, "42501": false, "53100": false, "57014": false, "57P01": false, "08006": false, "XX000": false,
	} {
		require.Equal(t, refused, outbox.WhyRefused(code) != "", code)
	}
}

// Each constraint has an explanation for producers.
func TestEveryConstraintIsExplained(t *testing.T) {
	t.Parallel()

	rows, err := postgrestest.New(t).Pool.Query(t.Context(), `
		SELECT conname
		FROM   pg_constraint c
		WHERE  conrelid = 'event_outbox'::regclass
		AND    contype = 'c'
		AND    EXISTS (SELECT FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey) AND attname = ANY ($1))`, outbox.Columns())
	require.NoError(t, err)
	constraints, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(constraints), 10)
	for _, constraint := range constraints {
		require.True(t, outbox.IsExplained(constraint), constraint)
	}
}

// A producer with the role of docs/roles.md may write every column except cancels and cancels_types,
// which are granted separately.
func TestProducersMayWriteEveryColumn(t *testing.T) {
	t.Parallel()

	grants, err := os.ReadFile("../docs/roles.sql")
	require.NoError(t, err)
	granted := regexp.MustCompile(`GRANT INSERT \((.*)\) ON event_outbox TO herald_producer`).FindSubmatch(grants)
	require.NotNil(t, granted)
	require.ElementsMatch(t, outbox.Columns(), append(strings.Split(string(granted[1]), ", "), "cancels", "cancels_types"))
}

// An error of the database, or of a wrong call, is no RefusedError.
func TestInsertFails(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	err := outbox.Insert(t.Context(), s.Pool, order("evt-1"))
	require.ErrorContains(t, err, "*pgxpool.Pool is not a transaction")
	require.Empty(t, written(t, s))

	_, err = s.Pool.Exec(t.Context(), "DROP TABLE event_outbox CASCADE")
	require.NoError(t, err)
	err = inserters["pgx"](t.Context(), s, order("evt-1"))
	require.ErrorContains(t, err, "insert into event_outbox")
	require.NotErrorAs(t, err, new(*outbox.RefusedError))
}
