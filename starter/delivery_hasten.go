package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/workflows"
)

// maxReschedule is how far ahead a delivery can be put off.
const maxReschedule = 365 * 24 * time.Hour

func (a *app) sendNowCommand() *cobra.Command {
	var flags bulkFlags
	cmd := &cobra.Command{
		Use:   "send-now ID...",
		Short: "Send deliveries now that wait",
		Long: `Send deliveries now that wait for a delay, for the end of quiet hours or for their next
attempt. Of an item of a digest the whole digest is sent.`,
		Example: "  starter delivery send-now evt-1-staff10-EMAIL",
		Args:    cobra.MinimumNArgs(1),
		RunE: a.within(0, func(ctx context.Context, ids []string) error {
			return a.signalDeliveries(ctx, ids, flags, instruction{workflows.SendNow, nil, "told to be sent now", "", "send"})
		}),
		ValidArgsFunction: a.completeDeliveries(),
	}
	flags.register(cmd)
	return cmd
}

func (a *app) rescheduleCommand() *cobra.Command {
	var flags bulkFlags
	var at string
	var in console.Age
	cmd := &cobra.Command{
		Use:   "reschedule ID...",
		Short: "Give deliveries that wait another time",
		Long: `Give deliveries that wait for a delay, for the end of quiet hours or for their next
attempt another time to be sent at. Of an item of a digest the whole digest waits.`,
		Example: `  starter delivery reschedule evt-1-staff10-EMAIL --at 2026-11-22T08:00:00+01:00
  starter delivery reschedule evt-1-staff10-EMAIL --in 2h`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.within(0, func(ctx context.Context, ids []string) error {
			until, err := rescheduled(at, in.Duration, time.Now())
			if err != nil {
				return misused(err)
			}
			return a.signalDeliveries(ctx, ids, flags, instruction{workflows.Reschedule, until, "told to wait", "until " + console.Clock(&until), "reschedule"})
		}),
		ValidArgsFunction: a.completeDeliveries(),
	}
	cmd.Flags().StringVar(&at, "at", "", "the time: 2026-11-22T08:00:00+01:00")
	cmd.Flags().Var(&in, "in", "or how long from now: 30m, 2h, 1d")
	flags.register(cmd)
	return cmd
}

// rescheduled is the time that the flags name.
func rescheduled(at string, in time.Duration, now time.Time) (time.Time, error) {
	switch {
	case (at == "") == (in == 0):
		return time.Time{}, errors.New("name the new time by --at or by --in")
	case in > maxReschedule:
		return time.Time{}, errors.New("--in must be a duration such as 30m, 2h or 1d, of a year at most")
	case in > 0:
		return now.Add(in).UTC(), nil
	}
	until, err := time.Parse(time.RFC3339, at)
	switch {
	case err != nil:
		return time.Time{}, errors.New("--at must be a time such as 2026-11-22T08:00:00+01:00")
	case !until.After(now):
		return time.Time{}, fmt.Errorf("--at: %s is past; to send at once there is `starter delivery send-now`", at)
	case until.After(now.Add(maxReschedule)):
		return time.Time{}, errors.New("--at must be within a year")
	}
	return until.UTC(), nil
}

// instruction is what waiting deliveries are told.
type instruction struct {
	name           string
	argument       any
	result, detail string // what is said when a delivery was told
	verb           string
}

// warning says what quiet hours will do to a delivery at the time that it is
// given; "" where they leave it alone. It is judged once more when that comes.
func (o *operator) warning(ctx context.Context, id string, s instruction) (string, error) {
	at, ok := s.argument.(time.Time)
	if !ok {
		return "", nil
	}
	check, err := o.db.QuietCheck(ctx, id)
	if err != nil {
		return "", err
	}
	silence, deferred := check.Silence(at)
	switch {
	case !silence.Quiet:
		return "", nil
	case deferred:
		return "; that is in quiet hours, so it will wait on until " + notification.WaitText(silence.Until, at, check.Timezone, notification.WaitQuietHours), nil
	default:
		return "; THAT IS IN QUIET HOURS, and its event type then drops it: give it another time", nil
	}
}

func (a *app) signalDeliveries(ctx context.Context, ids []string, flags bulkFlags, s instruction) error {
	return a.operate(ctx, 0, func(ctx context.Context, o *operator) error {
		tell := func(ctx context.Context, id string) (plan, error) { return o.planSignal(ctx, id, s) }
		return a.named(ctx, job{verb: s.verb, noun: theDeliveries, flags: flags, plan: tell, record: o.record}, ids)
	})
}

// planSignal tells a delivery's workflow. One whose row is written may be about to
// end, and would still take the signal.
func (o *operator) planSignal(ctx context.Context, id string, s instruction) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	running, err := o.running(ctx, id)
	if err != nil || !running || state.Status != notification.Pending {
		return refuse(asItIs(id, state)), err
	}
	warning, err := o.warning(ctx, id, s)
	would := outcome{ID: id, Done: true, Result: "would be told", Detail: s.name + warning}
	return plan{would, func(ctx context.Context) (outcome, error) { return o.signalDelivery(ctx, id, s, warning) }}, err
}

// signalDelivery tells a delivery's workflow. One that does not wait takes no
// notice, and ends as it would have.
func (o *operator) signalDelivery(ctx context.Context, id string, s instruction, warning string) (outcome, error) {
	err := o.temporal.SignalWorkflow(ctx, id, "", s.name, s.argument)
	if isNotFound(err) {
		state, err := o.delivery(ctx, id)
		return asItIs(id, state), err
	}
	if err != nil {
		return outcome{}, fmt.Errorf("tell %s: %w", id, err)
	}
	return outcome{ID: id, Done: true, Result: s.result, Detail: s.detail + warning}, nil
}
