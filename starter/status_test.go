package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres/report"
)

func TestStatusWithoutTemporal(t *testing.T) {
	t.Parallel()

	out := withDatabase(t).must(t, "status", "--since", "1h")

	require.Contains(t, out, "pending events  0")
	require.Contains(t, out, "no deliveries were planned in the last 1h")
	require.Contains(t, out, "unknown: Temporal is out of reach")
	require.NotContains(t, out, "oldest pending")
	require.NotContains(t, out, "follow-ups")
	require.Contains(t, out, "last sweep")
	require.Contains(t, out, "none yet")
	require.Contains(t, out, "not checked: RABBITMQ_URL is not set")
}

func TestPrintStatus(t *testing.T) {
	t.Parallel()

	since := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	view := statusView{
		Backlog: explain.Backlog{
			OutboxState: notification.OutboxState{Pending: 3, Failed: 1, OldestPending: 90 * time.Second},
			Deliveries:  []report.DeliveryCount{{Channel: notification.Email, Status: notification.Sent, Count: 5}},
			Incomplete:  2,
			FollowUps:   explain.FollowUps{Pending: 3, OldestSeconds: 300.4},
			Untold:      []report.OutcomeCount{{Outcome: notification.NoRouting, Count: 1}, {Outcome: notification.EventProblem, Count: 4}},
			LastSweep:   &notification.Sweep{At: since, Looked: 9, StartedAgain: 3, Closed: 1, Failed: 2},
		},
		Since:       "24h",
		sourcesView: sourcesView{Pollers: &operate.Pollers{Pollers: []operate.Poller{{ID: "herald-outbox-poller-1", Status: "RUNNING", Since: &since, Attempt: 1}}, TaskQueue: "herald-events"}},
	}

	require.Equal(t, `pending events     3
failed events      1
oldest pending     1m30s
told nobody        1 in the last 24h, see `+"`starter event list --outcome NO_ROUTING`"+`
told not all       4 in the last 24h, see `+"`starter event list --outcome PROBLEM`"+`
follow-ups         3 wait, the oldest for 5m0s: dead letters and escalations after receipts, which a worker that serves events sees to
incomplete events  2
last sweep         2026-11-21 08:00:00.000Z: 9 looked at, 3 started again, 1 closed, 2 failed

deliveries planned in the last 24h
CHANNEL  STATUS  COUNT
EMAIL    SENT    5

POLLER                  STATUS   SINCE                     LAST HEARTBEAT  ATTEMPT  LAST FAILURE
herald-outbox-poller-1  RUNNING  2026-11-21 08:00:00.000Z  -               1        -

no worker polls the task queue herald-events
`, table(t, func(w io.Writer) { printStatus(w, view) }))
}
