// Package demo plays the example: it writes the events, watches their deliveries, and compares
// the results with the example's expectations and with the sandbox's ledger.
package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"herald/internal/event"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/outbox"
	"herald/tools/example"
	"herald/tools/sandbox"
)

const (
	// SettleTimeout limits the wait for the example's deliveries. None of them is retried. On a
	// busy machine they took 90 seconds.
	SettleTimeout = 3 * time.Minute
	// endTimeout limits the wait for workflows to close after their events have ended.
	endTimeout = 30 * time.Second
	// everybody is the maximum number of recipients to read. No event of the example has as many.
	everybody = 1000
)

// Demo is one run of the example.
type Demo struct {
	Run       string // part of the ids of its events
	Events    []example.ExpectedEvent
	Services  *Services // nil: the demo leaves them out
	Acts      []example.Act
	Receipts  bool // the sandbox sends receipts; without them the demo leaves out the scenes
	Explainer explain.Explainer
	Sandbox   sandbox.Client
	Changed   func(line string) // called for each change of a delivery's status
	Started   func(what string) // called when the demo starts a part

	played  []example.ExpectedEvent        // events of the scenes, so far
	readers map[string]string              // who has yet to read an event, such as CUSTOMER/42, by event id
	told    map[string]notification.Status // last status passed to Changed, by delivery id
	settled []string                       // ids of events that [Demo.look] does not read again
	ended   atomic.Int64
}

// expected returns all events of the run so far, with the events of the services.
func (d *Demo) expected() []example.ExpectedEvent {
	if d.Services == nil {
		return slices.Concat(d.Events, d.played)
	}
	return slices.Concat(d.Events, d.Services.Orders, d.played)
}

// Ended returns the number of deliveries so far that are no longer pending. It is safe for concurrent
// use.
func (d *Demo) Ended() int64 { return d.ended.Load() }

// Sources returns the names of the sources whose events the demo writes.
func (d *Demo) Sources() []string {
	if d.Services == nil {
		return []string{notification.HeraldSource}
	}
	return append([]string{notification.HeraldSource}, d.Services.Names...)
}

// Ready returns an error if the demo cannot read the services' outboxes.
func (d *Demo) Ready(ctx context.Context) error {
	if d.Services == nil {
		return nil
	}
	_, err := d.Services.rows(ctx, d.Explainer.DB, d.Run)
	return err
}

// Play writes the events, waits for their deliveries and compares the results. If some
// deliveries do not end in time, it returns the result and an error.
func (d *Demo) Play(ctx context.Context) (*Result, error) {
	written := make([]outbox.Event, len(d.Events))
	for i, event := range d.Events {
		written[i] = event.InRun(d.Run)
	}
	if err := d.liftSuppressions(ctx); err != nil {
		return nil, err
	}
	d.Started(fmt.Sprintf("%d events", len(d.Events)))
	began := time.Now().Add(-time.Minute) // the sandbox may have another clock
	if err := event.On(d.Explainer.DB).InsertEvents(ctx, written); err != nil {
		return nil, err
	}
	if d.Services != nil {
		if err := d.Services.act(ctx, d.Explainer.DB, d.Run); err != nil {
			return nil, err
		}
	}
	watchErr := d.watch(ctx)
	if watchErr == nil && d.Receipts {
		watchErr = d.playActs(ctx)
	}
	if watchErr != nil && ctx.Err() != nil {
		return nil, watchErr
	}
	result, err := d.judge(ctx, began)
	return result, errors.Join(watchErr, err)
}

// judge compares the ends of the events with the example's expectations.
func (d *Demo) judge(ctx context.Context, began time.Time) (*Result, error) {
	lines, err := d.Sandbox.Entries(ctx, began)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	result := newResult(d.Run)
	var details []report.EventDetail
	for _, event := range d.expected() {
		seen, err := Observe(ctx, d.Explainer, event.ID(d.Run))
		if err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		seen.Receipts = d.Receipts
		result.add(event, seen)
		details = append(details, seen.Detail)
	}
	result.Deviations = append(result.Deviations, ledgerDeviations(details, lines)...)
	if d.Services != nil {
		err = d.judgeRows(ctx, result)
	}
	return result, err
}

// judgeRows lists the services' rows. A row that is not in its topic is a deviation.
func (d *Demo) judgeRows(ctx context.Context, result *Result) (err error) {
	result.Rows, err = d.Services.rows(ctx, d.Explainer.DB, d.Run)
	for _, row := range result.Rows {
		if !row.Sent {
			result.Deviations = append(result.Deviations, fmt.Sprintf("%s: its row in %s is %s", row.EventID, row.Outbox, row.Mark))
		}
	}
	return err
}

// Observation is the actual end of an event.
type Observation struct {
	Detail  report.EventDetail
	Outcome string // of its workflow: COMPLETED, RUNNING, NO_RECIPIENTS, FAILED …; empty: no such workflow

	Receipts bool // the sandbox sends receipts for the event's messages
}

// Observe reads the end of an event. If the event has ended, Observe waits for its workflow,
// which closes a moment later.
func Observe(ctx context.Context, e explain.Explainer, eventID string) (Observation, error) {
	detail, err := report.Reader{Pool: e.DB.Pool}.EventDetail(ctx, eventID, everybody, 0)
	if errors.Is(err, notification.ErrNoEvent) { // an event of a service, which no poller has seen
		return Observation{Detail: report.EventDetail{EventID: eventID}}, nil
	}
	if err != nil {
		return Observation{}, err
	}
	if detail.Processed != nil && detail.Processed.Status != notification.Processing {
		_ = e.Temporal.GetWorkflow(ctx, eventID, "").Get(ctx, nil) // EventWorkflow reads its result below
	}
	workflow, _ := e.EventWorkflow(ctx, eventID)
	switch {
	case workflow.Status == explain.Unreachable:
		return Observation{}, errors.New(workflow.Note)
	case workflow.Status == explain.Unknown:
		return Observation{Detail: detail}, nil
	case workflow.Outcome != "":
		return Observation{Detail: detail, Outcome: string(workflow.Outcome)}, nil
	default:
		return Observation{Detail: detail, Outcome: workflow.Status}, nil
	}
}
