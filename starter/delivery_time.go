package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/operate"
	"herald/internal/terminal"
)

func rescheduleCommand(a *app) *cobra.Command {
	var at string
	var in terminal.Age
	cmd := &cobra.Command{
		Use:   "reschedule ID...",
		Short: "Send waiting deliveries at another time",
		Long: `Set another time for waiting deliveries. They may wait for a delay, for the end of quiet
hours or for their next attempt. For an item of a digest, the whole digest waits.`,
		Example: `  starter delivery reschedule evt-1-staff10-EMAIL --at 2026-11-22T08:00:00+01:00
  starter delivery reschedule evt-1-staff10-EMAIL --in 2h`,
	}
	cmd.Flags().StringVar(&at, "at", "", "the time: 2026-11-22T08:00:00+01:00")
	terminal.AgeFlag(cmd.Flags(), &in, "in", "or how long from now: 30m, 2h, 1d")
	return a.verbCommand(cmd, verbCommand{ids: completeDeliveries(a), verb: func([]string, bulkFlags) (operate.Verb, error) {
		now := time.Now()
		until, err := newTime(at, in.Duration, now)
		if err != nil {
			return operate.Verb{}, misused(err)
		}
		verb, err := operate.Reschedule(until, now)
		if err != nil {
			return operate.Verb{}, misused(err)
		}
		return verb, nil
	}})
}

func sendNowCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send-now ID...",
		Short: "Send waiting deliveries now",
		Long: `Send waiting deliveries now. They may wait for a delay, for the end of quiet hours or for
their next attempt. For an item of a digest, the whole digest is sent.`,
		Example: "  starter delivery send-now evt-1-staff10-EMAIL",
	}
	return a.verbCommand(cmd, verbCommand{ids: completeDeliveries(a), verb: always(operate.SendNow())})
}

// newTime returns the time from --at or --in.
func newTime(at string, in time.Duration, now time.Time) (time.Time, error) {
	switch {
	case (at == "") == (in == 0):
		return time.Time{}, errors.New("name the new time by --at or by --in")
	case in > 0:
		return now.Add(in).UTC(), nil
	}
	until, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return time.Time{}, errors.New("--at must be a time such as 2026-11-22T08:00:00+01:00")
	}
	return until.UTC(), nil
}
