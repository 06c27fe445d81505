package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"herald/internal/config"
	"herald/internal/console"
	"herald/internal/postgres/postgrestest"
)

var (
	pauseOrder  = pollerOrder{"pause", pausedStatus, "paused"}
	resumeOrder = pollerOrder{"resume", runningStatus, "resumed"}
)

// twoPollers run, beside one that has ended.
func twoPollers(workers ...time.Duration) *server {
	return &server{
		status: map[string]enums.WorkflowExecutionStatus{
			"test-outbox-poller-1": enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
			"test-outbox-poller-2": enums.WORKFLOW_EXECUTION_STATUS_CANCELED,
			"test-outbox-poller-3": enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		},
		paused: map[string]*time.Time{}, signals: map[string][]any{}, workers: workers,
	}
}

func tell(t *testing.T, temporal *server, order pollerOrder) (string, error) {
	t.Helper()
	var out, problems bytes.Buffer
	a := &app{Output: console.Output{Out: &out, Err: &problems, Format: console.Table}, environment: map[string]string{"DATABASE_URL": postgrestest.URL(t)}}
	err := a.order(t.Context(), temporal, config.Starter{TaskQueuePrefix: "test"}, order)
	return out.String(), err
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()

	temporal := twoPollers(time.Second)
	for range 2 { // a repeat changes nothing
		out, err := tell(t, temporal, pauseOrder)
		require.NoError(t, err)
		require.Equal(t, "paused  test-outbox-poller-1\npaused  test-outbox-poller-3\n", out)
		require.Len(t, temporal.paused, 2)
	}
	for range 2 {
		out, err := tell(t, temporal, resumeOrder)
		require.NoError(t, err)
		require.Equal(t, "resumed  test-outbox-poller-1\nresumed  test-outbox-poller-3\n", out)
		require.Empty(t, temporal.paused)
	}
	for _, orders := range temporal.signals {
		require.Len(t, orders, 2, "what seems done is said again: it may wait behind its opposite")
		require.IsIncreasing(t, []int64{orders[0].(time.Time).UnixNano(), orders[1].(time.Time).UnixNano()})
	}
}

func TestOrderFails(t *testing.T) {
	t.Parallel()

	down := errors.New("connection refused")
	tests := []struct {
		name       string
		temporal   *server
		want, next string
	}{
		{"no poller", &server{workers: []time.Duration{0}}, "no poller runs", "`starter poller start` starts them"},
		{"no worker", twoPollers(), "no worker polls the task queue test-events; the order is kept until one does", "start a worker"},
		{"out of reach", &server{err: down}, "connection refused", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			out, err := tell(t, tt.temporal, pauseOrder)

			require.ErrorContains(t, err, tt.want)
			require.Contains(t, (&app{}).nextStep(err), tt.next)
			require.Empty(t, out)
			if tt.name == "no worker" {
				require.Len(t, tt.temporal.signals, 2)
			}
		})
	}
}

func TestPollersThatStartNothingAreNoted(t *testing.T) {
	t.Parallel()

	for status, want := range map[string]string{
		runningStatus: "", pausingStatus: "is about to pause", pausedStatus: "`starter poller resume` lets it go on",
		notStartedStatus: "run `starter poller start`", "CANCELED": "run `starter poller start`",
	} {
		var problems bytes.Buffer
		(&app{Output: console.Output{Err: &problems}}).warnOfPollers(pollersState{Pollers: []pollerState{{Status: status}}})
		require.Equal(t, want != "", problems.Len() > 0)
		require.Contains(t, problems.String(), want)
	}
}
