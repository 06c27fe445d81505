// Package demo plays the example: it writes the events, watches their deliveries,
// and compares how each ended with what the example expects and with the sandbox's ledger.
package demo

import (
	"context"
	"errors"
	"time"

	"herald/internal/example"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres/report"
	"herald/outbox"
)

const (
	// SettleTimeout bounds the wait for the example's deliveries, none of which is retried.
	SettleTimeout = 90 * time.Second
	// endTimeout bounds the wait for the ends of workflows whose events have ended.
	endTimeout = 30 * time.Second
	// everybody is a limit on recipients that no event of the example reaches.
	everybody = 1000
)

// Demo is one run of the example.
type Demo struct {
	Run       string // part of the ids of its events
	Events    []example.ExpectedEvent
	Explainer explain.Explainer
	Ledger    LedgerClient
	Changed   func(line string) // called whenever the status of a delivery changes
}

// Play writes the events, waits for their deliveries and compares how they ended. If they
// do not all end in time, it returns the result with the error.
func (d *Demo) Play(ctx context.Context) (*Result, error) {
	written := make([]outbox.Event, len(d.Events))
	for i, event := range d.Events {
		written[i] = event.InRun(d.Run)
	}
	began := time.Now().Add(-time.Minute) // the sandbox may have another clock
	if err := d.Explainer.Store.InsertEvents(ctx, written); err != nil {
		return nil, err
	}
	watchErr := d.watch(ctx)
	if watchErr != nil && ctx.Err() != nil {
		return nil, watchErr
	}
	result, err := d.judge(ctx, began)
	return result, errors.Join(watchErr, err)
}

// judge compares how the events ended with what the example expects.
func (d *Demo) judge(ctx context.Context, began time.Time) (*Result, error) {
	lines, err := d.Ledger.Since(ctx, began)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	result := newResult(d.Run)
	var details []report.EventDetail
	for _, event := range d.Events {
		seen, err := Observe(ctx, d.Explainer, event.ID(d.Run))
		if err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		result.add(event, seen)
		details = append(details, seen.Detail)
	}
	result.Deviations = append(result.Deviations, ledgerDeviations(details, lines)...)
	return result, nil
}

// Observation is how an event ended.
type Observation struct {
	Detail  report.EventDetail
	Outcome string // of its workflow: COMPLETED, RUNNING, NO_RECIPIENTS, FAILED …; empty: Temporal does not know it
}

// Observe reads how an event ended. If it has ended, Observe waits for its workflow, which
// ends a moment later.
func Observe(ctx context.Context, e explain.Explainer, eventID string) (Observation, error) {
	detail, err := report.Reader{Pool: e.Store.Pool}.EventDetail(ctx, eventID, everybody)
	if err != nil {
		return Observation{}, err
	}
	if detail.Processed != nil && detail.Processed.Status != notification.Processing {
		_ = e.Temporal.GetWorkflow(ctx, eventID, "").Get(ctx, nil) // how it ended is read below
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
