package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

func printWhy(w io.Writer, v whyView) {
	printWhyEvent(w, v)
	console.Row(w, "recipient", v.Recipient)
	console.Row(w, "channel", v.Channel)
	if v.undecided() {
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

func printWhyEvent(w io.Writer, v whyView) {
	if o := v.Outbox; o != nil {
		console.Row(w, "event", fmt.Sprintf("%s: %s of %s/%s, written at %s", v.EventID, o.EventType, o.AggregateType, o.AggregateID, console.Clock(&o.CreatedAt)))
		console.Row(w, "outbox", o.Status)
		if o.ErrorMessage != "" {
			console.Row(w, "error", o.ErrorMessage)
		}
	} else {
		console.Row(w, "event", fmt.Sprintf("%s: %s; its row in the outbox was purged", v.EventID, console.Dash(v.EventType)))
	}
	if p := v.Processed; p != nil {
		console.Row(w, "processed", processedText((*report.ProcessedRow)(p)))
	}
}

func printRules(w io.Writer, v whyView) {
	r := v.Rules
	console.Row(w, "routing", r.routing(v))
	console.Row(w, "channel", fmt.Sprintf("%s may serve %s", v.Channel, console.Dash(console.Join(r.ServedUserTypes))))
	console.Row(w, "recipient", r.recipient(v.Outbox == nil))
	console.Row(w, "preference", r.preference())
	switch {
	case r.SettingsOf == "":
		console.Row(w, "entity", "not known, and neither are its settings")
	case len(r.Settings) == 0:
		console.Row(w, "entity", r.SettingsOf+" has no row: on, for any role and any number")
	}
	for _, s := range r.Settings {
		console.Row(w, "entity", s.text(v))
	}
	console.Row(w, "address", r.Address)
	console.Row(w, "quiet hours", r.QuietHours)
	if r.Decision != "" {
		console.Row(w, "decided now", r.Decision)
	}
}

func (r rulesView) routing(v whyView) string {
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
		strategy += " by " + r.Routing.Delay
	case notification.Aggregate:
		strategy += " over " + r.Routing.DigestWindow
	}
	priority := cmp.Or(string(r.Routing.Priority), "the recipient's")
	return fmt.Sprintf("%s over %s: %s, %s, in quiet hours %s, priority %s", v.EventType, v.Channel, kind, strategy, r.Routing.QuietHoursAction, priority)
}

func (r rulesView) recipient(purged bool) string {
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

func (r rulesView) preference() string {
	p := r.Preference
	if p == nil {
		return "no row: on"
	}
	return fmt.Sprintf("%s, quiet hours %s, priority %s", onOff(p.Enabled), cmp.Or(p.QuietHours, "off"), p.Priority)
}

func (s settingView) text(v whyView) string {
	scope := "every event type"
	if s.EventSpecific {
		scope = v.EventType
	}
	text := fmt.Sprintf("%s for %s: %s", s.Entity, scope, onOff(s.Enabled))
	if s.AllowedRoles != nil {
		text += ", only the roles " + cmp.Or(strings.Join(s.AllowedRoles, ", "), "none")
	}
	if s.MaxRecipients != nil {
		text += fmt.Sprintf(", at most %d recipients (of this event %d were chosen)", *s.MaxRecipients, v.Rules.Chosen)
	}
	if s.QuietHours != "" {
		text += ", quiet hours " + s.QuietHours
	}
	if !s.Holds {
		text += "; beaten by the row above"
	}
	return text
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func printWhyDelivery(w io.Writer, v whyView) {
	d, s := *v.Delivery, *v.Workflow
	console.Row(w, "delivery", fmt.Sprintf("%s: %s", d.DeliveryID, d.Status))
	if !d.HasText {
		console.Row(w, "text", "none: it could not be rendered")
	}
	if d.LastError != "" {
		console.Row(w, "last error", d.LastError)
	}
	if d.DigestID != "" {
		console.Row(w, "digest", fmt.Sprintf("%s, with %d items", d.DigestID, d.DigestItems))
	}
	console.Row(w, "workflow", s.Status)
	if s.Details != "" {
		console.Row(w, "it says", s.Details)
	}
	if s.Note != "" {
		console.Row(w, "note", s.Note)
	}
	printAttempts(w, d, s)
	printRetries(w, d.Retries)
}
