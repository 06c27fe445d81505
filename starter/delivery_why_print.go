package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"herald/internal/console"
	"herald/internal/explain"
	"herald/internal/notification"
)

func printWhy(w io.Writer, v explain.Why) {
	printWhyEvent(w, v)
	console.Row(w, "recipient", v.Recipient)
	console.Row(w, "channel", v.Channel)
	if v.Undecided() {
		console.Row(w, "decision", v.Meaning)
	} else {
		console.Row(w, "decision", fmt.Sprintf("%s, at %s: %s", v.Decision, console.Clock(v.DecidedAt), v.Meaning))
	}
	console.Row(w)
	console.Row(w, "THE RULES AS THEY ARE NOW, which need not be those of then")
	printRules(w, v)
	console.Row(w)
	if v.Delivery == nil {
		console.Row(w, "delivery", "none was planned")
	} else {
		printWhyDelivery(w, v)
	}
	console.Row(w)
	console.Row(w, "WHAT HAPPENS NEXT")
	console.Row(w, v.Next)
}

func printWhyEvent(w io.Writer, v explain.Why) {
	if o := v.Outbox; o != nil {
		console.Row(w, "event", fmt.Sprintf("%s: %s of %s/%s, written at %s", v.EventID, o.EventType, o.AggregateType, o.AggregateID, console.Clock(&o.CreatedAt)))
		printSet(w, fact{"outbox", string(o.Status)}, fact{"error", o.ErrorMessage})
	} else {
		console.Row(w, "event", fmt.Sprintf("%s: %s; its row in the outbox was purged", v.EventID, console.Dash(v.EventType)))
	}
	if p := v.Processed; p != nil {
		console.Row(w, "processed", processedText(p))
	}
}

func printRules(w io.Writer, v explain.Why) {
	r := v.Rules
	console.Row(w, "routing", routingText(v))
	console.Row(w, "recipient", namedText(r, v.Outbox == nil))
	for _, finding := range r.Findings {
		text := finding.Fact
		if finding.Applies {
			text += ": " + string(finding.Decision)
		}
		console.Row(w, finding.Subject, text)
	}
	console.Row(w, "chosen", fmt.Sprintf("%d of the event's recipients, over %s", r.Chosen, v.Channel))
	switch {
	case r.Uncounted:
		console.Row(w, "decided now", fmt.Sprintf("%s, or MAX_RECIPIENTS: too many come before them to be counted", r.Decision))
	case r.Decision != "":
		console.Row(w, "decided now", r.Decision)
	}
}

func routingText(v explain.Why) string {
	r := v.Rules
	if r.Routing == nil {
		return fmt.Sprintf("%s does not go over %s, but over %s", console.Dash(v.EventType), v.Channel, cmp.Or(console.Join(r.RoutedChannels), "no channel"))
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
	priority := cmp.Or(string(r.Routing.Priority), "the recipient's")
	return fmt.Sprintf("%s over %s: %s, %s, in quiet hours %s, priority %s", v.EventType, v.Channel, kind, strategy, r.Routing.QuietHoursAction, priority)
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
		return "active; of which entity is not known, since the event's row was purged"
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
