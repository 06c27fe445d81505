package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/console"
	"herald/internal/example"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// watchInterval is between two looks at the deliveries.
const watchInterval = 200 * time.Millisecond

var errUnsettled = fmt.Errorf("the deliveries have not all ended within %s", settleTimeout)

// watch shows each delivery whenever it changes, until all have ended or wait
// for longer than anybody would. The reports are the last that it saw.
func (d *demo) watch(ctx context.Context) ([]report.EventDetail, error) {
	settle, cancel := context.WithTimeoutCause(ctx, settleTimeout, errUnsettled)
	defer cancel()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	shown := map[string]notification.Status{}
	horizon := time.Now().Add(settleTimeout)
	for {
		reports, err := d.reports(ctx)
		if err != nil {
			return nil, err
		}
		d.showChanges(reports, shown)
		if d.settled(reports, horizon) {
			return reports, nil
		}
		select {
		case <-settle.Done():
			return reports, context.Cause(settle)
		case <-ticker.C:
		}
	}
}

func (d *demo) reports(ctx context.Context) ([]report.EventDetail, error) {
	reports := make([]report.EventDetail, len(d.events))
	for i, event := range d.events {
		detail, err := report.Reader{Pool: d.db.Pool}.EventDetail(ctx, event.ID(d.run), example.Everybody)
		if err != nil {
			return nil, err
		}
		reports[i] = detail
	}
	return reports, nil
}

func (d *demo) settled(reports []report.EventDetail, horizon time.Time) bool {
	for i, event := range d.events {
		if !event.Settled(reports[i], horizon) {
			return false
		}
	}
	return true
}

// showChanges writes a line for each delivery whose status is not the one in
// shown, and remembers it there. One that is about to be sent is no news.
func (d *demo) showChanges(reports []report.EventDetail, shown map[string]notification.Status) {
	var lines []string
	for _, detail := range reports {
		for _, recipient := range detail.Recipients {
			for _, delivery := range recipient.Deliveries {
				seen, known := shown[delivery.DeliveryID]
				shown[delivery.DeliveryID] = delivery.Status
				atOnce := !known && delivery.Status == notification.Pending && delivery.SendAfter == nil
				if seen == delivery.Status || atOnce {
					continue
				}
				lines = append(lines, fmt.Sprintf("%-64s %s", delivery.DeliveryID, example.Describe(delivery)))
			}
		}
	}
	slices.SortFunc(lines, strings.Compare)
	now := time.Now().Format("15:04:05.000")
	for _, line := range lines {
		d.app.line("%s  %s", now, line)
	}
}

// line writes a line of progress: beside JSON it is no result.
func (a *app) line(format string, args ...any) {
	if a.Format == console.JSON {
		a.Note(format, args...)
		return
	}
	_, _ = fmt.Fprintln(a.Out, console.Printable(fmt.Sprintf(format, args...)))
}

// observe adds to each report what Temporal knows of the event. The workflow
// ends a moment after its event is marked, so that is waited for.
func (d *demo) observe(ctx context.Context, reports []report.EventDetail) ([]example.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	observations := make([]example.Observation, len(reports))
	for i, detail := range reports {
		if ended := detail.Processed != nil && detail.Processed.Status != "PROCESSING"; ended {
			_ = d.temporal.GetWorkflow(ctx, detail.EventID, "").Get(ctx, nil) // how it ended is read below
		}
		outcome, err := example.Outcome(ctx, d.temporal, detail.EventID)
		if err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		observations[i] = example.Observation{Report: detail, Outcome: outcome}
	}
	return observations, nil
}
