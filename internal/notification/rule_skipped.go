package notification

import "fmt"

// DecisionSkipped means that the delivery's time is past, and that late deliveries are skipped.
// It also applies to mandatory channels.
const DecisionSkipped Decision = "SKIPPED"

var skipped = rule{
	decision: DecisionSkipped,
	applies:  func(f Facts) bool { return f.Routing.SkipIfPast && !f.Routing.Due.IsZero() && !f.ahead() },
	meaning:  "the time to send it over {channel} was past when the event was planned, and such deliveries are skipped",
	remedy:   "set skip_if_past to false (event_type_channel_routing) to send it at once, or write the event earlier",
	subject:  "its time",
	fact:     Facts.dueText,
	settled:  true, // the time of a delivery that waited is always past
}

// dueText tells when the delivery is due, by the recipient's clock: "24h0m0s before startsAt,
// which is 09:30 Europe/Rome: it waits until then".
func (f Facts) dueText() string {
	r := f.Routing
	if r.SendAtPath == "" {
		return f.digestText()
	}
	text := r.SendAtPath
	if r.SendBefore != (Span{}) {
		text = fmt.Sprintf("%s before %s", r.SendBefore, r.SendAtPath)
	}
	switch {
	case r.DueProblem != "":
		return fmt.Sprintf("%s, but %s: it fails", text, r.DueProblem)
	case r.Due.IsZero():
		return text + ", which is not known without the event"
	case f.ahead():
		return fmt.Sprintf("%s, which is %s", text, WaitText(r.Due, f.Now, f.Recipient.Timezone, "it waits until then"))
	case r.SkipIfPast:
		return fmt.Sprintf("%s, which was %s", text, WaitText(r.Due, f.Now, f.Recipient.Timezone, "past, and skipped"))
	default:
		return fmt.Sprintf("%s, which was %s", text, WaitText(r.Due, f.Now, f.Recipient.Timezone, "past, and sent at once"))
	}
}
