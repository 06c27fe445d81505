package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/tools/example"
	"herald/tools/rig"
)

// watchInterval is the time between two reads of the deliveries.
const watchInterval = 200 * time.Millisecond

var errUnsettled = fmt.Errorf("some deliveries have not ended within %s", SettleTimeout)

// watch reports each change of a delivery, until all deliveries have ended or are due only
// after SettleTimeout.
func (d *Demo) watch(ctx context.Context) error {
	settle, cancel := context.WithTimeoutCause(ctx, SettleTimeout, errUnsettled)
	defer cancel()
	horizon := time.Now().Add(SettleTimeout)
	return rig.Await(settle, watchInterval, func() (bool, error) { return d.look(ctx, horizon) })
}

// look calls Changed for each changed delivery, and reports whether all events are settled. It does
// not read settled events again.
func (d *Demo) look(ctx context.Context, horizon time.Time) (bool, error) {
	settled := true
	var details []report.EventDetail
	for _, event := range d.expected() {
		if slices.Contains(d.settled, event.ID(d.Run)) {
			continue
		}
		detail, err := report.Reader{Pool: d.Explainer.DB.Pool}.EventDetail(ctx, event.ID(d.Run), everybody, 0)
		if errors.Is(err, notification.ErrNoEvent) { // an event of a service, which no poller has seen yet
			settled = false
			continue
		}
		if err != nil {
			return false, err
		}
		if isSettled(event, detail, horizon) && d.answered(detail) {
			d.settled = append(d.settled, detail.EventID)
		} else {
			settled = false
		}
		details = append(details, detail)
	}
	d.tellChanges(details)
	if err := d.read(ctx, details); err != nil {
		return false, err
	}
	if d.Services == nil || !settled {
		return settled, nil
	}
	rows, err := d.Services.rows(ctx, d.Explainer.DB, d.Run)
	return !slices.ContainsFunc(rows, func(row ServiceRow) bool { return row.Pending }), err
}

// isSettled reports whether nothing more will happen to an event soon: it has ended, or its
// pending deliveries are all due after the horizon.
func isSettled(event example.ExpectedEvent, detail report.EventDetail, horizon time.Time) bool {
	if detail.Processed == nil {
		return false
	}
	if detail.Processed.Status != notification.Processing {
		return true
	}
	if event.Expect.Outcome != example.Running || len(detail.Recipients) < len(event.Expect.Recipients) {
		return false
	}
	for d := range deliveries(detail) {
		if d.Status == notification.Pending && (d.SendAfter == nil || d.SendAfter.Before(horizon)) {
			return false
		}
	}
	return true
}

// answered reports whether no message of the event still waits for a receipt.
func (d *Demo) answered(detail report.EventDetail) bool {
	for delivery, channel := range deliveries(detail) {
		if d.Receipts && hasReceipts(channel) && delivery.Status == notification.Sent {
			return false
		}
	}
	return true
}

// tellChanges calls Changed for each delivery whose status has changed. It skips new deliveries
// that will be sent at once.
func (d *Demo) tellChanges(details []report.EventDetail) {
	if d.told == nil {
		d.told = map[string]notification.Status{}
	}
	var lines []string
	for _, detail := range details {
		for delivery := range deliveries(detail) {
			seen, known := d.told[delivery.DeliveryID]
			d.told[delivery.DeliveryID] = delivery.Status
			if delivery.Status != notification.Pending && (!known || seen == notification.Pending) {
				d.ended.Add(1)
			}
			atOnce := !known && delivery.Status == notification.Pending && delivery.SendAfter == nil
			if seen != delivery.Status && !atOnce {
				lines = append(lines, fmt.Sprintf("%-64s %s", delivery.DeliveryID, describe(delivery)))
			}
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		d.Changed(line)
	}
}
