package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/terminal"
)

func whyDeliveryCommand(a *app) *cobra.Command {
	var key report.DecisionKey // names a delivery that may never have been planned
	cmd := &cobra.Command{
		Use:   "why ID | why --event ID --recipient TYPE/ID --channel CHANNEL",
		Short: "Explain a delivery: the decision, the attempts, and what happens next",
		Long: `Explain a delivery in one place: its event, the decision, the rules as they are now, the
quiet hours by the recipient's clock, each attempt with the provider's answer, the
receipts, and what happens next. A recipient who got nothing has no delivery: name the
event, the recipient and the channel instead. It shows no address and no text. It works
without Temporal, too.`,
		Example: `  starter delivery why evt-1-staff10-EMAIL
  starter delivery why --event evt-1 --recipient CUSTOMER/42 --channel sms
  starter delivery why evt-1-staff10-EMAIL -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: terminal.CompleteOne(completeDeliveries(a)),
		RunE: a.within(commandTimeout, func(ctx context.Context, args []string) error {
			return a.why(ctx, args, key)
		}),
	}
	eventFlag(a, cmd, &key.EventID, "the event's id")
	recipientFlag(a, cmd, &key.UserType, &key.UserID, "the recipient: CUSTOMER/42")
	terminal.WordFlag(cmd, &key.Channel, "channel", notification.Channels(), "the channel")
	return cmd
}

func (a *app) why(ctx context.Context, args []string, key report.DecisionKey) error {
	switch {
	case len(args) > 0 && key != (report.DecisionKey{}):
		return misused(errors.New("give a delivery id, or --event, --recipient and --channel, not both"))
	case len(args) == 0 && (key.EventID == "" || key.UserID == "" || key.Channel == ""):
		return misused(errors.New("give a delivery id, or all of --event, --recipient and --channel"))
	}
	e, err := a.explainer(ctx)
	if err != nil {
		return err
	}
	warnOfNoSecret(ctx, a, e.DB)
	var found explain.Why
	if len(args) > 0 {
		found, err = e.WhyDelivery(ctx, args[0])
	} else {
		found, err = e.Why(ctx, key)
	}
	if err == nil {
		err = e.CountChosen(ctx, &found)
	}
	return show(a, found, err, printWhy)
}

// warnOfNoSecret warns that the answer omits suppressions, because they need the workers' secret.
func warnOfNoSecret(ctx context.Context, a *app, on *db.DB) {
	var unset *db.SecretChangedError
	if on.AddressHash == nil && errors.As(on.AgreeOnSecret(ctx), &unset) {
		a.Note("warning: cannot tell whether the address is suppressed: %s", unset)
	}
}

func printWhy(w io.Writer, v explain.Why) {
	printWhyEvent(w, v)
	terminal.Row(w, "recipient", v.Recipient)
	terminal.Row(w, "channel", v.Channel)
	if v.Reason != "" {
		terminal.Row(w, "reason", v.Reason)
	}
	if v.Undecided() {
		terminal.Row(w, "decision", v.Meaning)
	} else {
		terminal.Row(w, "decision", fmt.Sprintf("%s, at %s: %s", v.Decision, terminal.Clock(v.DecidedAt), v.Meaning))
	}
	terminal.Row(w)
	terminal.Row(w, "THE RULES AS THEY ARE NOW, which may differ from the rules at that time")
	printRules(w, v)
	terminal.Row(w)
	if v.Delivery == nil {
		terminal.Row(w, "delivery", "none was planned")
	} else {
		printWhyDelivery(w, v)
	}
	terminal.Row(w)
	terminal.Row(w, "WHAT HAPPENS NEXT")
	terminal.Row(w, v.Next)
}

func printWhyEvent(w io.Writer, v explain.Why) {
	if o := v.Outbox; o != nil {
		terminal.Row(w, "event",
			fmt.Sprintf("%s: %s of %s/%s, written at %s", v.EventID, o.EventType, o.AggregateType, o.AggregateID, terminal.Clock(&o.CreatedAt)))
		printSet(w, fact{"outbox", string(o.Status)}, fact{"error", o.ErrorMessage})
	} else {
		terminal.Row(w, "event", fmt.Sprintf("%s: %s; its row in the outbox was purged", v.EventID, terminal.Dash(v.EventType)))
	}
	if p := v.Processed; p != nil {
		terminal.Row(w, "processed", processedText(p))
	}
}

func printRules(w io.Writer, v explain.Why) {
	r := v.Rules
	terminal.Row(w, "routing", routingText(v))
	terminal.Row(w, "recipient", namedText(r, v.Outbox == nil))
	for _, finding := range r.Findings {
		text := finding.Fact
		if finding.Applies {
			text += ": " + string(finding.Decision)
		}
		terminal.Row(w, finding.Subject, text)
	}
	terminal.Row(w, "chosen", fmt.Sprintf("%d of the event's recipients, over %s", r.Chosen, v.Channel))
	switch {
	case r.Uncounted:
		terminal.Row(w, "decided now", fmt.Sprintf("%s, or MAX_RECIPIENTS: too many recipients come before them to be counted", r.Decision))
	case r.Instead != "":
		terminal.Row(w, "decided now", fmt.Sprintf("%s, so the rules judge %s at once", r.Decision, r.Instead))
	case r.Decision != "":
		terminal.Row(w, "decided now", r.Decision)
	}
}

func routingText(v explain.Why) string {
	r := v.Rules
	if r.Routing == nil {
		return fmt.Sprintf("%s does not go over %s, but over %s", terminal.Dash(v.EventType), v.Channel,
			cmp.Or(terminal.Join(r.RoutedChannels), "no channel"))
	}
	kind := "optional"
	if r.Routing.Mandatory {
		kind = "mandatory"
	}
	strategy := string(r.Routing.Strategy)
	switch r.Routing.Strategy {
	case notification.Delayed:
		strategy += delayText(*r.Routing)
	case notification.Aggregate:
		strategy += " over " + r.Routing.DigestWindow
	}
	if r.Routing.OnEscalationOnly {
		kind += ", on escalation only"
	}
	if r.Routing.Roles != nil {
		kind += ", for the roles " + cmp.Or(terminal.Join(r.Routing.Roles), "none")
	}
	priority := cmp.Or(string(r.Routing.Priority), "the recipient's")
	return fmt.Sprintf("%s over %s: %s, %s, in quiet hours %s, priority %s", v.EventType, v.Channel, kind, strategy,
		r.Routing.QuietHoursAction, priority)
}

func delayText(r explain.RoutingNow) string {
	switch {
	case r.SendAtPath == "":
		return " by " + r.Delay
	case r.SendBefore == "0s":
		return " until " + r.SendAtPath
	default:
		return fmt.Sprintf(" until %s before %s", r.SendBefore, r.SendAtPath)
	}
}

func namedText(r explain.RulesNow, purged bool) string {
	switch {
	case !r.RecipientKnown:
		return "not in the directory"
	case !r.RecipientActive:
		return "not active"
	case len(r.Unreached) > 0:
		return "not named by the event: " + strings.Join(r.Unreached, "; ")
	case r.Entity == "" && purged:
		return "active; the entity is not known, because the event's row was purged"
	case r.Role == "":
		return "active; named through " + r.Entity
	default:
		return fmt.Sprintf("active; named through %s, as %s", r.Entity, r.Role)
	}
}

func printWhyDelivery(w io.Writer, v explain.Why) {
	d, s := *v.Delivery, *v.Workflow
	printSet(w,
		fact{"delivery", fmt.Sprintf("%s: %s", d.DeliveryID, d.Status)},
		fact{"text", textState(d)},
		fact{"last error", d.LastError},
		fact{"digest", digestText(d)},
		fact{"follows", v.Escalation.Follows()},
		fact{"escalation", v.Escalation.Says()},
		fact{"workflow", s.Status},
		fact{"it says", s.Details},
		fact{"note", s.Note})
	printAttempts(w, d, s)
	printReceipts(w, d.Receipts)
	printRetries(w, d.Retries)
}
