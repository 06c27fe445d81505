package dialects_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/relay"
)

func TestOrdersPendingByTime(t *testing.T) {
	t.Parallel()

	s := orders(t)
	for _, row := range []struct{ digits, status, createdAt string }{
		{"05", "NEW", "2026-11-22 10:00:00.000002"},
		{"04", "NEW", "2026-11-22 10:00:00.000001"},
		{"03", "SENT", "2026-11-22 09:00:00"},
		{"02", "NEW", "2026-11-22 10:00:00.000002"}, // same transaction: the ids decide
		{"01", "FAILED", "2026-11-22 09:00:00"},
		{"06", "NEW", "2026-11-22 10:00:00.000002"},
	} {
		s.addOrder(t, row.digits, row.status, row.createdAt, "{}")
	}

	require.Equal(t, []string{id("04"), id("02"), id("05"), id("06")}, found(t, s.table(t)))
}

// The payload is read byte for byte, even if it is not JSON.
func TestOrdersRows(t *testing.T) {
	t.Parallel()

	s := orders(t)
	payloads := map[string]string{
		"01": "{ \"b\":1,\n\t\"a\": 1.50, \"b\":2, \"name\":\"caf\u00e9 \\u00e9 \U0001f37d\" }\n",
		"02": "<no-json/>",
		"03": "",
	}
	for digits, payload := range payloads {
		s.addOrder(t, digits, "NEW", "2026-11-22 10:00:00."+digits, payload)
	}

	rows, _ := page(t, s.table(t), "", 10)

	require.Len(t, rows, 3)
	for i, digits := range []string{"01", "02", "03"} {
		require.Equal(t, relay.Row{
			Key: id(digits), Cursor: rows[i].Cursor, EventType: "OrderCreated", AggregateType: "Order", AggregateID: id("99"),
			Payload:   []byte(payloads[digits]),
			CreatedAt: rows[i].CreatedAt,
		}, rows[i])
		require.True(t, rows[i].CreatedAt.Equal(time.Date(2026, 11, 22, 10, 0, 0, (i+1)*10_000_000, time.UTC)), rows[i].CreatedAt)
	}
}

// A timestamp without a zone is in the source's zone. A timestamp with a zone is exact.
func TestOrdersZone(t *testing.T) {
	t.Parallel()

	rome, err := time.LoadLocation("Europe/Rome")
	require.NoError(t, err)
	for name, columnType := range map[string]string{"without": "timestamp", "with": "timestamptz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := orders(t)
			s.config.Zone = rome
			s.exec(t, "SET timezone = 'Europe/Rome'")
			s.exec(t, "ALTER TABLE orders.outbox ALTER COLUMN created_at TYPE "+columnType+", ALTER COLUMN sent_at TYPE "+columnType)
			s.addOrder(t, "01", "NEW", "2026-07-01 12:00:00", "{}")
			s.addOrder(t, "02", "NEW", "2026-10-25 02:30:00", "{}") // this time occurs twice
			s.addOrder(t, "03", "NEW", "2026-11-22 12:00:00", "{}")
			table := s.table(t)

			require.Equal(t, []string{id("01"), id("02"), id("03")}, found(t, table))
			rows, _ := page(t, table, "", 10)
			require.True(t, rows[0].CreatedAt.Equal(time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)), rows[0].CreatedAt)
			require.True(t, rows[2].CreatedAt.Equal(time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)), rows[2].CreatedAt)

			require.NoError(t, table.MarkSent(t.Context(), []string{id("01")}))
			require.Equal(t, "true",
				s.text(t, "SELECT (now() - sent_at < '1 minute' AND sent_at <= clock_timestamp())::text FROM orders.outbox WHERE id = $1", id("01")))
		})
	}
}

// A row whose time is infinite is read like any other.
func TestOrdersInfiniteTime(t *testing.T) {
	t.Parallel()

	s := orders(t)
	s.addOrder(t, "01", "NEW", "infinity", "{}")
	s.addOrder(t, "02", "NEW", "2026-11-22 10:00:00", "{}")
	table := s.table(t)

	require.Equal(t, []string{id("02"), id("01")}, found(t, table))
	rows, _ := page(t, table, "", 10)
	require.Nil(t, rows[1].CreatedAt, "Go has no infinite time")
	state, err := table.State(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, state.Pending)
}

// The times that a service may have written: each row is read, in the order of its time. A time
// that nobody set, or that Herald cannot store, is read as none, and does not age the backlog.
func TestTimesOfRows(t *testing.T) {
	t.Parallel()

	unusable := []string{
		"-infinity", "4713-01-01 00:00:00 BC", "0001-01-01 00:00:00", "1970-01-01 00:00:00", "9999-12-31 23:59:59", "10000-01-01 00:00:00",
		"294276-12-31 23:59:59", "infinity",
	}
	for _, columnType := range []string{"timestamp", "timestamptz"} {
		for _, zone := range []string{"UTC", "Pacific/Kiritimati", "America/New_York"} {
			t.Run(columnType+" "+zone, func(t *testing.T) {
				t.Parallel()

				location, err := time.LoadLocation(zone)
				require.NoError(t, err)
				o, w := orders(t), wallet(t)
				o.config.Zone, w.config.Zone = location, location
				o.exec(t, "ALTER TABLE orders.outbox ALTER COLUMN created_at TYPE "+columnType)
				w.exec(t, "ALTER TABLE public.outbox ALTER COLUMN created_at TYPE "+columnType)
				for i, at := range unusable {
					o.exec(t, `INSERT INTO orders.outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
						VALUES ($1, 'Order', $2, 'OrderCreated', '{}', 'NEW', $3::text::`+columnType+`)`, id(fmt.Sprintf("%02d", i)), id("99"), at)
					w.exec(t, `INSERT INTO public.outbox (event_type, payload, created_at) VALUES ('FundsAdded', '{}', $1::text::`+columnType+`)`, at)
				}
				for _, s := range []service{o, w} {
					table := s.table(t)
					require.Len(t, found(t, table), len(unusable))
					rows, _ := page(t, table, "", 100)
					for _, row := range rows {
						require.Nil(t, row.CreatedAt)
					}
					state, err := table.State(t.Context(), nil)
					require.NoError(t, err)
					require.Equal(t, len(unusable), state.Pending)
					require.Zero(t, state.OldestPending)
				}
			})
		}
	}
}

func TestOrdersMarks(t *testing.T) {
	t.Parallel()

	s := orders(t)
	for _, status := range []string{"NEW", "SENT", "FAILED"} {
		for _, digits := range []string{"1", "2", "3"} {
			s.addOrder(t, map[string]string{"NEW": "1", "SENT": "2", "FAILED": "3"}[status]+digits, status, "2026-11-22 10:00:00", "{}")
		}
	}
	s.exec(t, "UPDATE orders.outbox SET error_message = 'it failed' WHERE status = 'FAILED'")
	s.exec(t, "UPDATE orders.outbox SET sent_at = '2020-11-22 10:00:05' WHERE status = 'SENT'")
	table := s.table(t)
	row := func(digits string) string {
		return s.text(t,
			`SELECT concat_ws(' ', status, CASE WHEN sent_at > '2020-11-22 10:00:05' THEN 'now' ELSE sent_at::text END, error_message)
			FROM orders.outbox WHERE id = $1`, id(digits))
	}

	s.exec(t, "ALTER TABLE orders.outbox ALTER COLUMN error_message TYPE varchar(255)") // as frameworks create it
	require.NoError(t, table.MarkSent(t.Context(), []string{id("11"), id("21"), id("31"), id("77")}))
	for _, digits := range []string{"12", "22", "32", "77"} {
		require.NoError(t, table.MarkFailed(t.Context(), id(digits), "refused "+strings.Repeat("é", 300)))
	}
	require.NoError(t, table.Reopen(t.Context(), []string{id("13"), id("23"), id("33")}))

	require.Equal(t, "SENT now", row("11"))
	require.Equal(t, "SENT 2020-11-22 10:00:05", row("21"), "a sent row keeps its time")
	require.Equal(t, "SENT now", row("31"), "the broker has the record, so FAILED becomes SENT")
	require.Equal(t, "FAILED refused "+strings.Repeat("é", 247), row("12"), "as long as the column")
	require.Equal(t, "SENT 2020-11-22 10:00:05", row("22"))
	require.Equal(t, "FAILED it failed", row("32"))
	require.Equal(t, "NEW", row("13"))
	require.Equal(t, "SENT 2020-11-22 10:00:05", row("23"))
	require.Equal(t, "NEW", row("33"))
}

// A short column gets the beginning of the message.
func TestOrdersShortMessages(t *testing.T) {
	t.Parallel()

	s := orders(t)
	s.addOrder(t, "01", "NEW", "2026-11-22 10:00:00", "{}")
	s.exec(t, "ALTER TABLE orders.outbox ALTER COLUMN error_message TYPE varchar(9)")
	require.NoError(t, s.table(t).MarkFailed(t.Context(), id("01"), "refusé by its topic"))
	require.Equal(t, "FAILED refusé by", s.text(t, "SELECT status || ' ' || error_message FROM orders.outbox"))
}

func TestOrdersState(t *testing.T) {
	t.Parallel()

	s := orders(t)
	table := s.table(t)
	state, err := table.State(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, notification.OutboxState{}, state)

	for i, status := range []string{"NEW", "NEW", "FAILED", "SENT"} {
		s.addOrder(t, "0"+string(rune('1'+i)), status, fmt.Sprintf("2026-11-22 %d:00:00", 10-i), "{}")
	}
	state = s.state(t, "status = 'NEW'")
	require.Equal(t, [2]int{2, 1}, [2]int{state.Pending, state.Failed})

	s.addOrder(t, "05", "NEW", "0001-01-01 00:00:00", "{}") // as an unset clock writes it
	state, err = table.State(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 3, state.Pending)
	require.Less(t, state.OldestPending, 90*365*24*time.Hour, "nobody set this time")
}
