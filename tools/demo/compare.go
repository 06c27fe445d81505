package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/tools/example"
)

// Deviations returns one line for each difference between the event's expected and actual end.
func Deviations(event example.ExpectedEvent, seen Observation, now time.Time) []string {
	var deviations []string
	deviate := func(format string, args ...any) {
		deviations = append(deviations, event.Name+": "+fmt.Sprintf(format, args...))
	}
	if !endedWell(event, seen, now) {
		deviate("expected outcome %s, it is %s", event.Expect.Outcome, cmp.Or(seen.Outcome, "unknown"))
	}
	missing := maps.Clone(event.Expect.Recipients)
	for _, r := range seen.Detail.Recipients {
		who := r.Name()
		expected, isMissing := missing[who]
		if !isMissing {
			deviate("%s was told, but should not be", who)
			continue
		}
		delete(missing, who)
		for _, deviation := range recipientDeviations(expected, r, seen.Receipts, now) {
			deviate("%s %s", who, deviation)
		}
	}
	for who := range missing {
		deviate("%s was not told", who)
	}
	slices.Sort(deviations)
	return deviations
}

// endedWell reports whether the outcome is the expected outcome. An event that was expected to
// wait may also be COMPLETED once one of its deliveries is due.
func endedWell(event example.ExpectedEvent, seen Observation, now time.Time) bool {
	if seen.Outcome == event.Expect.Outcome {
		return true
	}
	if event.Expect.Outcome != example.Running || seen.Outcome != example.Completed {
		return false
	}
	for d := range deliveries(seen.Detail) {
		if due(d, now) {
			return true
		}
	}
	return false
}

func due(d report.RecipientDelivery, now time.Time) bool {
	return d.SendAfter != nil && !d.SendAfter.After(now)
}

// recipientDeviations returns the deviations of one recipient. With receipts, a channel that
// has receipts must reach DELIVERED instead of SENT.
func recipientDeviations(
	expected map[notification.Channel]example.ExpectedResult, r report.RecipientDetail, receipts bool, now time.Time,
) []string {
	var deviations []string
	for _, channel := range notification.Channels() {
		want := expected[channel]
		if receipts && want.Status == notification.Sent && hasReceipts(channel) {
			want.Status = notification.Delivered
		}
		decision, delivery := r.Decisions[channel], r.Deliveries[channel]
		switch {
		case decision != want.Decision:
			deviations = append(deviations, fmt.Sprintf("%s: expected %s, was decided %s",
				channel, cmp.Or(want.String(), "nothing"), cmp.Or(string(decision), "nothing")))
		case !isMet(want, delivery, now):
			deviations = append(deviations, fmt.Sprintf("%s: expected %s, is %s", channel, want, describe(delivery)))
		}
	}
	return deviations
}

// hasReceipts reports whether the channel's provider sends receipts.
func hasReceipts(channel notification.Channel) bool {
	return channel == notification.Email || channel == notification.SMS
}

// isMet reports whether d is as expected. DELIVERED also counts as SENT, and SENT counts as
// PENDING once the delivery is due.
func isMet(want example.ExpectedResult, d report.RecipientDelivery, now time.Time) bool {
	status := d.Status
	if status == notification.Delivered && want.Status != notification.Delivered {
		status = notification.Sent
	}
	switch {
	case want.Status == notification.Pending && status == notification.Sent:
		return due(d, now)
	case want.Status == notification.Pending:
		return status == notification.Pending && d.SendAfter != nil
	case (status == notification.Sent || status == notification.Delivered) && want.Digest != (d.DigestID != ""):
		return false
	default:
		return status == want.Status && strings.Contains(d.LastError, want.Error)
	}
}

// describe returns the status of a delivery with its reason or "in digest".
func describe(d report.RecipientDelivery) string {
	switch {
	case d.Status == "":
		return "missing"
	case d.DigestID != "" && (d.Status == notification.Sent || d.Status == notification.Delivered):
		return string(d.Status) + " in digest"
	case why(d) == "":
		return string(d.Status)
	case d.LastError == "":
		return fmt.Sprintf("%s %s", d.Status, why(d))
	default:
		return fmt.Sprintf("%s (%s)", d.Status, why(d))
	}
}

// why returns the last error of a delivery, the time until which it waits, or "".
func why(d report.RecipientDelivery) string {
	if d.LastError == "" && d.Status == notification.Pending && d.SendAfter != nil {
		return "until " + notification.InstantText(*d.SendAfter)
	}
	return d.LastError
}
