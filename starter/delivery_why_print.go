package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"herald/internal/notification"
)

func printWhy(w io.Writer, v whyView) {
	printWhyEvent(w, v)
	row(w, "recipient", v.Recipient)
	row(w, "channel", v.Channel)
	if v.undecided() {
		row(w, "decision", v.Meaning)
	} else {
		row(w, "decision", fmt.Sprintf("%s, at %s: %s", v.Decision, clock(v.DecidedAt), v.Meaning))
	}
	row(w)
	row(w, "THE RULES AS THEY ARE NOW, which need not be those of then")
	printRules(w, v)
	row(w)
	if v.Delivery == nil {
		row(w, "delivery", "none was planned")
	} else {
		printWhyDelivery(w, v)
	}
	row(w)
	row(w, "WHAT HAPPENS NEXT")
	row(w, v.Next)
}

func printWhyEvent(w io.Writer, v whyView) {
	if o := v.Outbox; o != nil {
		row(w, "event", fmt.Sprintf("%s: %s of %s/%s, written at %s", v.EventID, o.EventType, o.AggregateType, o.AggregateID, clock(&o.CreatedAt)))
		row(w, "outbox", o.Status)
		if o.ErrorMessage != "" {
			row(w, "error", o.ErrorMessage)
		}
	} else {
		row(w, "event", fmt.Sprintf("%s: %s; its row in the outbox was purged", v.EventID, dash(v.EventType)))
	}
	if p := v.Processed; p != nil {
		row(w, "processed", processedText(p))
	}
}

func printRules(w io.Writer, v whyView) {
	r := v.Rules
	row(w, "routing", r.routing(v))
	row(w, "channel", fmt.Sprintf("%s may serve %s", v.Channel, dash(words(r.ServedUserTypes))))
	row(w, "recipient", r.recipient(v.Outbox == nil))
	row(w, "preference", r.preference())
	switch {
	case r.SettingsOf == "":
		row(w, "entity", "not known, and neither are its settings")
	case len(r.Settings) == 0:
		row(w, "entity", r.SettingsOf+" has no row: on, for any role and any number")
	}
	for _, s := range r.Settings {
		row(w, "entity", s.text(v))
	}
	row(w, "address", r.Address)
	row(w, "quiet hours", r.QuietHours)
	if r.Decision != "" {
		row(w, "decided now", r.Decision)
	}
}

func (r rulesView) routing(v whyView) string {
	if r.Routing == nil {
		return fmt.Sprintf("%s does not go over %s, but over %s", dash(v.EventType), v.Channel, cmp.Or(words(r.RoutedChannels), "no channel"))
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
	row(w, "delivery", fmt.Sprintf("%s: %s", d.DeliveryID, d.Status))
	if !d.HasText {
		row(w, "text", "none: it could not be rendered")
	}
	if d.LastError != "" {
		row(w, "last error", d.LastError)
	}
	if d.DigestID != "" {
		row(w, "digest", fmt.Sprintf("%s, with %d items", d.DigestID, d.DigestItems))
	}
	row(w, "workflow", s.Status)
	if s.Details != "" {
		row(w, "it says", s.Details)
	}
	if s.Note != "" {
		row(w, "note", s.Note)
	}
	printAttempts(w, d, s)
	printRetries(w, d.Retries)
}
