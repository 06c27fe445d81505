package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// whyFlags name a delivery that may never have been planned.
type whyFlags struct {
	event     string
	recipient recipientFlag
	channel   notification.Channel
}

func (f whyFlags) given() bool { return f.event != "" || f.recipient.id != "" || f.channel != "" }

func (a *app) whyDeliveryCommand() *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why ID | why --event ID --recipient TYPE/ID --channel CHANNEL",
		Short: "Explain a delivery: who decided, what was tried, and what happens next",
		Long: `Explain a delivery from one place: its event, what was decided and the rows that decide,
as they are now; the quiet hours by the recipient's clock; each attempt with the
provider's answer; and what happens next. Somebody who got nothing has no delivery:
name the event, the recipient and the channel instead. It shows no address and no text,
and answers without Temporal as well.`,
		Example: `  starter delivery why evt-1-staff10-EMAIL
  starter delivery why --event evt-1 --recipient CUSTOMER/42 --channel sms
  starter delivery why evt-1-staff10-EMAIL -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: console.CompleteOne(a.completeDeliveries()),
		RunE: a.within(commandTimeout, func(ctx context.Context, args []string) error {
			return a.why(ctx, args, f)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.event, "event", "", "the event's id")
	f.recipient.register(cmd, "the recipient: CUSTOMER/42")
	console.WordFlag(cmd, &f.channel, "channel", notification.Channels(), "the channel")
	a.completeEventFlag(cmd)
	return cmd
}

// key reads the flags, which must be given together.
func (f whyFlags) key() (report.DecisionKey, error) {
	if f.event == "" || f.recipient.id == "" || f.channel == "" {
		return report.DecisionKey{}, misused(errors.New("give a delivery id, or all of --event, --recipient and --channel"))
	}
	return report.DecisionKey{EventID: f.event, UserType: f.recipient.userType, UserID: f.recipient.id, Channel: f.channel}, nil
}

func (a *app) why(ctx context.Context, args []string, f whyFlags) error {
	if len(args) > 0 && f.given() {
		return misused(errors.New("give a delivery id, or --event, --recipient and --channel, not both"))
	}
	var key report.DecisionKey
	if len(args) == 0 {
		var err error
		if key, err = f.key(); err != nil {
			return err
		}
	}
	e, done, err := a.explainer(ctx)
	if err != nil {
		return err
	}
	defer done()
	var found explain.Why
	if len(args) > 0 {
		found, err = e.WhyDelivery(ctx, args[0])
		err = advice.NoDelivery(args[0], err)
	} else {
		found, err = e.Why(ctx, key)
		err = advice.NoEvent(key.EventID, err)
	}
	if err != nil {
		return err
	}
	return a.Print(found, func(w io.Writer) { printWhy(w, found) })
}
