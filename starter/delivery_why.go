package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

func (a *app) whyDeliveryCommand() *cobra.Command {
	var key report.DecisionKey // of a delivery that may never have been planned
	cmd := &cobra.Command{
		Use:   "why ID | why --event ID --recipient TYPE/ID --channel CHANNEL",
		Short: "Explain a delivery: who decided, what was tried, and what happens next",
		Long: `Explain a delivery from one place: its event, what was decided and the rows that decide,
as they are now; the quiet hours by the recipient's clock; each attempt with the
provider's answer; what receipts said later; and what happens next. Somebody who got nothing has no delivery:
name the event, the recipient and the channel instead. It shows no address and no text,
and answers without Temporal as well.`,
		Example: `  starter delivery why evt-1-staff10-EMAIL
  starter delivery why --event evt-1 --recipient CUSTOMER/42 --channel sms
  starter delivery why evt-1-staff10-EMAIL -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: console.CompleteOne(a.completeDeliveries()),
		RunE: a.within(commandTimeout, func(ctx context.Context, args []string) error {
			return a.why(ctx, args, key)
		}),
	}
	a.eventFlag(cmd, &key.EventID, "the event's id")
	a.recipientFlag(cmd, &key.UserType, &key.UserID, "the recipient: CUSTOMER/42")
	console.WordFlag(cmd, &key.Channel, "channel", notification.Channels(), "the channel")
	return cmd
}

func (a *app) why(ctx context.Context, args []string, key report.DecisionKey) error {
	switch {
	case len(args) > 0 && key != (report.DecisionKey{}):
		return misused(errors.New("give a delivery id, or --event, --recipient and --channel, not both"))
	case len(args) == 0 && (key.EventID == "" || key.UserID == "" || key.Channel == ""):
		return misused(errors.New("give a delivery id, or all of --event, --recipient and --channel"))
	}
	e, done, err := a.explainer(ctx)
	if err != nil {
		return err
	}
	defer done()
	a.warnOfNoSecret(ctx, e.Store)
	var found explain.Why
	if len(args) > 0 {
		found, err = e.WhyDelivery(ctx, args[0])
	} else {
		found, err = e.Why(ctx, key)
	}
	if err != nil {
		return err
	}
	return a.Print(found, func(w io.Writer) { printWhy(w, found) })
}

// warnOfNoSecret says that the answer lacks what takes the secret that the workers have.
func (a *app) warnOfNoSecret(ctx context.Context, db *postgres.Store) {
	var unset *postgres.SecretChangedError
	if db.AddressHash == nil && errors.As(db.AgreeOnSecret(ctx), &unset) {
		a.Note("warning: whether the address is suppressed is not known here: %s", unset)
	}
}
