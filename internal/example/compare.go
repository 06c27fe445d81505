package example

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// Observation is what came of an event.
type Observation struct {
	Report  report.EventDetail
	Outcome string // of its workflow: COMPLETED, RUNNING, NO_RECIPIENTS, FAILED …
}

// Everybody is a limit on recipients that no event of the example reaches.
const Everybody = 1000

// Settled says that nothing more will happen to an event soon: it has ended, or
// all that is left of it waits until after the horizon.
func (e Event) Settled(detail report.EventDetail, horizon time.Time) bool {
	if detail.Processed == nil {
		return false
	}
	if detail.Processed.Status != "PROCESSING" {
		return true
	}
	if e.Expect.Outcome != Running || len(detail.Recipients) < len(e.Expect.Recipients) {
		return false
	}
	for _, r := range detail.Recipients {
		for _, d := range r.Deliveries {
			if d.Status == notification.Pending && (d.SendAfter == nil || d.SendAfter.Before(horizon)) {
				return false
			}
		}
	}
	return true
}

// Deviations returns where an event did not end as it must, a line each.
func (e Event) Deviations(seen Observation, now time.Time) []string {
	var deviations []string
	deviate := func(format string, args ...any) {
		deviations = append(deviations, e.Name+": "+fmt.Sprintf(format, args...))
	}
	if !e.endedWell(seen, now) {
		deviate("expected outcome %s, it is %s", e.Expect.Outcome, cmp.Or(seen.Outcome, "unknown"))
	}
	missing := map[string]bool{}
	for who := range e.Expect.Recipients {
		missing[who] = true
	}
	for _, r := range seen.Report.Recipients {
		who := Name(r)
		if !missing[who] {
			deviate("%s was told, and should not", who)
			continue
		}
		delete(missing, who)
		for _, deviation := range recipientDeviations(e.Expect.Recipients[who], r, now) {
			deviate("%s %s", who, deviation)
		}
	}
	for who := range missing {
		deviate("%s was not told", who)
	}
	slices.Sort(deviations)
	return deviations
}

// Name is RESTAURANT_USER/10.
func Name(r report.RecipientDetail) string { return string(r.UserType) + "/" + r.UserID }

// endedWell takes the end of a deferred event for as good as its waiting, once
// its time has come.
func (e Event) endedWell(seen Observation, now time.Time) bool {
	if seen.Outcome == e.Expect.Outcome {
		return true
	}
	return e.Expect.Outcome == Running && seen.Outcome == Completed && slices.ContainsFunc(seen.Report.Recipients, func(r report.RecipientDetail) bool {
		for _, d := range r.Deliveries {
			if due(d, now) {
				return true
			}
		}
		return false
	})
}

func due(d report.RecipientDelivery, now time.Time) bool {
	return d.SendAfter != nil && !d.SendAfter.After(now)
}

func recipientDeviations(expected map[notification.Channel]Fate, r report.RecipientDetail, now time.Time) []string {
	var deviations []string
	for _, channel := range notification.Channels() {
		fate := expected[channel]
		decision, delivery := r.Decisions[channel], r.Deliveries[channel]
		switch {
		case decision != fate.Decision:
			deviations = append(deviations, fmt.Sprintf("%s: expected %s, was decided %s", channel, cmp.Or(fate.String(), "nothing"), cmp.Or(string(decision), "nothing")))
		case !fate.met(delivery, now):
			deviations = append(deviations, fmt.Sprintf("%s: expected %s, is %s", channel, fate, Describe(delivery)))
		}
	}
	return deviations
}

// met takes DELIVERED for SENT, and SENT for what waited until its time had come.
func (f Fate) met(d report.RecipientDelivery, now time.Time) bool {
	status := d.Status
	if status == notification.Delivered {
		status = notification.Sent
	}
	switch {
	case f.Status == notification.Pending && status == notification.Sent:
		return due(d, now)
	case f.Status == notification.Pending:
		return status == notification.Pending && d.SendAfter != nil
	case status == notification.Sent && f.Digest != (d.DigestID != ""):
		return false
	default:
		return status == f.Status && strings.Contains(d.LastError, f.Error)
	}
}

// Describe is the status of a delivery, and why it is not SENT, or how.
func Describe(d report.RecipientDelivery) string {
	switch {
	case d.Status == "":
		return "missing"
	case d.DigestID != "" && d.Status == notification.Sent:
		return string(d.Status) + " " + inDigest
	case Why(d) == "":
		return string(d.Status)
	case d.LastError == "":
		return fmt.Sprintf("%s %s", d.Status, Why(d))
	default:
		return fmt.Sprintf("%s (%s)", d.Status, Why(d))
	}
}

// Why is the last error of a delivery, or until when it waits; else "".
func Why(d report.RecipientDelivery) string {
	if d.LastError == "" && d.Status == notification.Pending && d.SendAfter != nil {
		return "until " + d.SendAfter.UTC().Format(time.RFC3339)
	}
	return d.LastError
}
