package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/console"
	"herald/internal/operate"
)

func TestPollerWarnings(t *testing.T) {
	t.Parallel()

	running := []operate.Poller{{Status: operate.PollerRunning}}
	tests := []struct {
		name    string
		pollers operate.Pollers
		want    string // empty: there is nothing to warn of
	}{
		{name: "all is well", pollers: operate.Pollers{Workers: 1, Pollers: running}},
		{name: "pausing", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerPausing}}}, want: "is about to pause"},
		{name: "paused", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerPaused}}}, want: "`starter poller resume` lets it go on"},
		{name: "not started", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerNotStarted}}}, want: "run `starter poller start`"},
		{name: "stopped", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: "CANCELED"}}}, want: "run `starter poller start`"},
		{name: "told to stop", pollers: operate.Pollers{Workers: 1, Pollers: []operate.Poller{{Status: operate.PollerStopping}}}, want: "run `starter poller start`"},
		{name: "no worker", pollers: operate.Pollers{TaskQueue: "test-events", Pollers: running}, want: "no worker polls the task queue test-events"},
		{name: "others", pollers: operate.Pollers{Workers: 1, Pollers: running, Others: []string{"north-events", "south-events"}},
			want: "north-events, south-events: no two of them may have an event with the same id, and each needs a RabbitMQ vhost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var problems bytes.Buffer
			(&app{Output: console.Output{Err: &problems}}).warnOfPollers(tt.pollers)

			require.Contains(t, problems.String(), tt.want)
			require.Equal(t, tt.want == "", problems.Len() == 0)
		})
	}
}
