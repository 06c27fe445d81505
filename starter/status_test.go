package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/report"
	"herald/internal/terminal"
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
		Since: "24h",
		sourcesView: sourcesView{Pollers: &operate.Pollers{
			Pollers: []operate.Poller{{ID: "herald-outbox-poller-1", Status: "RUNNING", Since: &since, Attempt: 1}}, TaskQueue: "herald-events",
		}},
	}

	require.Equal(t, `pending events     3
failed events      1
oldest pending     1m30s
told nobody        1 in the last 24h, see `+"`starter event list --outcome NO_ROUTING`"+`
told only some     4 in the last 24h, see `+"`starter event list --outcome PROBLEM`"+`
follow-ups         3 wait, the oldest for 5m0s: dead letters and escalations; a worker that serves events handles them
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

// silent returns the address of a server that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// status has the figures of each outbox in `starter source list`. If a database is down or hangs,
// a warning names it, and only its figures are missing.
func TestStatusOfSources(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	c.exec(t, `
		INSERT INTO orders.outbox
		SELECT gen_random_uuid(), 'Order', gen_random_uuid(), 'OrderCreated', '{}', status, timezone('UTC', now()) - interval '1 hour'
		FROM   unnest('{NEW,NEW,FAILED,SENT}'::text[]) AS status`)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'ADMIN', '1', '{}');
		INSERT INTO source_row (source, row_key, event_id, refusals, error, failed_at) VALUES ('orders', '1', '1', 3, 'refused', now()),
		       ('orders', '2', '2', 1, 'refused', NULL);
		INSERT INTO source_topic (source, topic, next_attempt_at, error) VALUES ('wallet', 't', now(), 'UNKNOWN_TOPIC')`)
	tests := []struct {
		name, wallet, problem string
	}{
		{"away", unreachable, "connect"},
		{"hangs", silent(t), "did not answer within 5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.environment["WALLET_DATABASE_URL"] = "postgres://herald:verysecret@" + tt.wallet + "/wallet?sslmode=disable"
			got := c.run(t, "status")
			require.Equal(t, succeeded, got.code, got.err)
			require.Regexp(t, `herald +1 +\S+ +0 +0\n`, got.out)
			require.Regexp(t, `orders +2 +1h0m\S+ +1 +0\n`, got.out)
			require.Regexp(t, `wallet +unknown +- +0 +1\n`, got.out)
			require.Contains(t, got.err, "warning: cannot read the table of wallet: ")
			require.Contains(t, got.err, tt.problem)
			require.NotContains(t, got.err, "verysecret")
		})
	}

	view := read[statusView](t, c, "status")
	require.Len(t, view.Sources, 3)
	for i, listed := range read[struct{ Sources []sourceView }](t, c, "source", "list").Sources {
		require.Equal(t, listed.Name, view.Sources[i].Name)
	}
	require.Equal(t, 2, *view.Sources[1].Pending)
	require.Equal(t, 1, int(*view.Sources[1].OldestSeconds)/3600, "an hour")
	require.Nil(t, view.Sources[2].Pending)
	require.NotEmpty(t, view.Sources[2].Problem)

	got := c.run(t, "status", "--source", "orders")
	require.Equal(t, succeeded, got.code)
	require.Regexp(t, `orders +2 `, got.out)
	for _, other := range []string{"wallet", "herald ", "deliveries"} {
		require.NotContains(t, got.out, other)
	}
	require.Len(t, read[sourcesView](t, c, "status", "--source", "orders").Sources, 1)
	require.Contains(t, c.run(t, "status", "--source", "order").err, `there is no source "order"`)
}

func TestPollerWarnings(t *testing.T) {
	t.Parallel()

	running := []operate.Poller{{Status: operate.PollerRunning}}
	tests := []struct {
		name    string
		pollers operate.Pollers
		want    string // empty: no warning
	}{
		{name: "all is well", pollers: operate.Pollers{Workers: 1, Pollers: running}},
		{name: "pausing", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerPausing}}},
			want: "is about to pause"},
		{name: "paused", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerPaused}}},
			want: "`starter poller resume` lets it continue"},
		{name: "not started", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerNotStarted}}},
			want: "run `starter poller start`"},
		{name: "stopped", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: "CANCELED"}}},
			want: "run `starter poller start`"},
		{name: "told to stop", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerStopping}}},
			want: "run `starter poller start`"},
		{name: "no worker", pollers: operate.Pollers{TaskQueue: "test-events", Pollers: running},
			want: "no worker polls the task queue test-events"},
		{name: "others", pollers: operate.Pollers{Workers: 1, Pollers: running, Others: []string{"north-events", "south-events"}},
			want: "north-events, south-events: no two of them may have an event with the same id, and each needs a separate RabbitMQ vhost"},
	}
	for _, tt := range tests {
		var problems bytes.Buffer
		warnOfPollers(&terminal.Output{Err: &problems}, tt.pollers)

		require.Contains(t, problems.String(), tt.want, tt.name)
		require.Equal(t, tt.want == "", problems.Len() == 0, tt.name)
	}
}

func TestPrintFleet(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	fleet := operate.Fleet{
		Current: 4,
		Generations: []operate.FleetGeneration{
			{Generation: 5, State: operate.Ramping, Percent: 12.5, Workers: 1, Open: 3},
			{Generation: 4, State: operate.Current, Workers: 1, Open: 12}, {Generation: 3, State: operate.Draining, Workers: 1, Open: 2},
		},
		Workers: []operate.FleetWorker{
			{TaskQueue: "herald-events", Worker: launch.Worker{Identity: "1@a", Status: launch.WorkerRunning, Generation: 4, LastSeen: at}},
			{TaskQueue: "herald-events", Worker: launch.Worker{Identity: "2@b", Status: launch.WorkerIdle, Generation: 3, LastSeen: at}},
		},
	}
	var out bytes.Buffer
	printFleet(&out, fleet)
	for _, line := range []string{
		`5\s+RAMPING 12.5 %\s+1\s+3`, `4\s+CURRENT\s+1\s+12`, `3\s+DRAINING\s+1\s+2`, `herald-events\s+2@b\s+3\s+IDLE`,
	} {
		require.Regexp(t, line, out.String())
	}
}

func TestGenerationOf(t *testing.T) {
	t.Parallel()

	require.Equal(t, 3, must(generationOf(context.Background(), &launch.Launcher{}, []string{"3"}))(t))
	for _, wrong := range []string{"-1", "0.2", "four"} {
		_, err := generationOf(context.Background(), &launch.Launcher{}, []string{wrong})
		require.ErrorContains(t, err, "is not a generation")
	}
}
