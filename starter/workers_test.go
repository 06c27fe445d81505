package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/launch"
	"herald/internal/operate"
	"herald/internal/postgres"
)

func TestPrintFleet(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	fleet := operate.Fleet{
		Current:     4,
		Generations: []operate.FleetGeneration{{Generation: 4, Current: true, Versioned: true, Workers: 1, Open: 12}, {Generation: 3, Workers: 1, Open: 2}},
		Workers: []operate.FleetWorker{
			{TaskQueue: "herald-events", Worker: launch.Worker{Identity: "1@a", Status: launch.WorkerRunning, Generation: 4, LastSeen: at}},
			{TaskQueue: "herald-events", Worker: launch.Worker{Identity: "2@b", Status: launch.WorkerIdle, Generation: 3, LastSeen: at}},
		},
		Promotion: &postgres.Promotion{Generation: 4, From: 3, BeganAt: at}, Restarting: 7,
	}
	var out bytes.Buffer
	printFleet(&out, fleet)
	for _, line := range []string{
		`4\s+yes\s+1\s+12`, `3 \(no version\)\s+no\s+1\s+2`, `generation 3 to 4, began 2026-11-22 10:00:00.000Z`,
		"7 events wait to be started again; `starter workers promote 4` continues", `herald-events\s+2@b\s+3\s+IDLE`,
	} {
		require.Regexp(t, line, out.String())
	}
}

func TestGenerationOf(t *testing.T) {
	t.Parallel()

	named, err := generationOf(context.Background(), &launch.Launcher{}, []string{"3"})
	require.NoError(t, err)
	require.Equal(t, 3, named)
	for _, wrong := range []string{"2", "0.2", "four"} {
		_, err := generationOf(context.Background(), &launch.Launcher{}, []string{wrong})
		require.ErrorContains(t, err, "is not a generation")
	}
}
