package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
)

// situations has, for each situation of docs/operations.md, what happens before the
// operator is called.
var situations = map[string]func(n *nightShift){
	"1. Customer 42 got no text message": func(n *nightShift) {
		n.confirm("night-1", 42)
		n.confirm("night-2", 43)
		n.awaitSuccess(n.own("night-1"), n.own("night-2"))
	},
	"2. An address is wrong": func(n *nightShift) {
		n.confirm("night-3", 45)
		n.awaitSuccess(n.own("night-3"))
	},
	"3. The e-mail provider was out for an hour": func(n *nightShift) {
		n.fault("email", fmt.Sprintf(`{"status": %d}`, http.StatusServiceUnavailable))
		n.emit("night-4", "SHIFT_PLANNED", "RESTAURANT/9", `{"week": 48}`)
		n.awaitDeliveries(n.own("night-4"), "FAILED", 120)
		n.awaitSuccess(n.own("night-4"))
		n.mend()
	},
	"4. A reminder waits for the morning, but must not": func(n *nightShift) {
		n.remind("night-5", "night-6")
	},
	"5. A message must not go out": func(n *nightShift) {
		n.remind("night-7")
	},
	"6. A whole event was a mistake": func(n *nightShift) {
		n.emit("night-8", "SPECIAL_OFFER", "RESTAURANT/5", `{"discount": 90}`)
		n.awaitDeliveries(n.own("night-8"), "SENT", 2)
		n.awaitDeliveries(n.own("night-8"), "PENDING", 2)
	},
	"7. An event is FAILED in the outbox": func(n *nightShift) {
		n.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, attempt_count)
			VALUES ($1, 'SHIFT_PLANNED', 'RESTAURANT', '5', '{"week": 49}', 10)`, n.own("night-9"))
	},
	"8. Maintenance: nothing new may start for an hour": func(*nightShift) {},
	"9. Customer 42 waits for a digest": func(n *nightShift) {
		n.awaitSuccess(n.own("night-10"))
		for _, id := range []string{"night-11", "night-12", "night-13"} {
			n.emit(id, "POINTS_EARNED", "CUSTOMER/42", `{"points": 20}`)
			n.awaitDeliveries(n.own(id), "PENDING", 1) // one after the other, for the order of the list
		}
	},
	"10. Before a release, and the tables grow": func(n *nightShift) {
		n.confirm("night-14", 47)
		n.awaitSuccess(n.own("night-14"))
		history := n.history("night-14-customer47-SMS")
		n.save("night-14.json", history)
		n.save("other-build.json", strings.ReplaceAll(history, `"name":"GiveUp"`, `"name":"RecordFailure"`))
		n.age("40 days", "night-1", "night-2")
	},
	"11. An event told nobody": func(n *nightShift) {
		n.emit("night-15", "TABLE_MOVED", "CUSTOMER/42", `{"table": 9}`)
		n.awaitSuccess(n.own("night-15"))
	},
	"12. An address gets nothing any more": func(n *nightShift) {
		n.confirm("night-16", 47)
		n.awaitSuccess(n.own("night-16"))
	},
}

// confirm tells a customer of a reservation.
func (n *nightShift) confirm(id string, customer int) {
	n.t.Helper()
	n.emit(id, "RESERVATION_CONFIRMED", "RESERVATION/100", fmt.Sprintf(
		`{"restaurantId": 7, "customer": {"id": %d}, "pax": 4, "date": "2026-12-20", "time": "19:30"}`, customer))
}

// remind reminds customer 46, in whose time zone it is night: the push message waits, the
// e-mail does not.
func (n *nightShift) remind(ids ...string) {
	n.t.Helper()
	for _, id := range ids {
		n.emit(id, "RESERVATION_REMINDER", "RESERVATION/105", `{"customer": {"id": 46}, "pax": 2, "time": "20:00"}`)
		n.awaitDeliveries(n.own(id), "SENT", 1)
		n.awaitDeliveries(n.own(id), "PENDING", 1)
	}
}

// history returns a workflow's history in the JSON of the temporal CLI and the Web UI.
func (n *nightShift) history(id string) string {
	n.t.Helper()
	return historyOf(n.t, n.temporal, n.own(id))
}

func historyOf(t *testing.T, temporal client.Client, id string) string {
	t.Helper()
	var recorded historypb.History
	for events := temporal.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		recorded.Events = append(recorded.Events, event)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&recorded)
	require.NoError(t, err)
	return string(text)
}

// save puts a file where the operator's shell is.
func (n *nightShift) save(name, text string) {
	n.t.Helper()
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, n.own(name)), []byte(text), 0o600))
}

// age makes events, and their rows in other tables, older.
func (n *nightShift) age(by string, ids ...string) {
	n.t.Helper()
	for _, column := range []string{"event_outbox.created_at", "processed_event.created_at", "notification.created_at", "notification_decision.decided_at"} {
		table, column, _ := strings.Cut(column, ".")
		for _, id := range ids {
			n.exec(fmt.Sprintf(`UPDATE %[1]s SET %[2]s = %[2]s - $1::text::interval WHERE event_id = $2`, table, column), by, n.own(id))
		}
	}
}
