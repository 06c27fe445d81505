package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// RestoreInput is the input of [Activities.Restore].
type RestoreInput struct {
	Rate  int  // questions to Temporal a second, one or two for each row
	Check bool // start nothing: only count the rows whose workflow does not run
}

// Restored is the result of [Activities.Restore], and its progress.
type Restored struct {
	notification.Sweep // what was looked up, and what became of it

	Events     int `json:"events"`     // open events at the begin
	Deliveries int `json:"deliveries"` // open deliveries of other events at the begin

	MissingEvents     int      `json:"missing_events"`        // of a check: open, but their workflow does not run
	MissingDeliveries int      `json:"missing_deliveries"`    // likewise
	MissingIDs        []string `json:"missing_ids,omitempty"` // the first of both

	Pass  int       `json:"pass,omitempty"` // passes over the tables that have ended
	Began time.Time `json:"began,omitzero"`
}

const (
	// soon is the time from the begin of a restore within which rows count as due soon.
	soon = time.Hour
	// maxMissingIDs limits the ids in [Restored].
	maxMissingIDs = 20
)

// Restore starts the workflow of each open row that Temporal does not run, such as after a loss of
// Temporal's database: first what is due, then what is due within the hour, then the rest. It is a sweep
// without a minimum age, without a limit of restarts and without an end before the last row. A second
// restore, and a restore next to a Temporal that has everything, start nothing.
//
// When its process dies, the next attempt continues after the last handled row.
func (a *Activities) Restore(ctx context.Context, in RestoreInput) (Restored, error) {
	s, err := newRestoreRun(ctx, a, in)
	if err != nil {
		return Restored{}, err
	}
	defer s.pace.Stop()
	due, soonDue := notification.StuckScan{To: s.found.Began}, s.found.Began.Add(soon)
	passes := []func() error{
		func() error { return s.events(ctx, due, &s.found.AfterEvent) },
		func() error { return s.deliveries(ctx, due) },
		func() error {
			return s.events(ctx, notification.StuckScan{From: s.found.Began, To: soonDue}, &s.found.AfterEvent)
		},
		func() error { return s.deliveries(ctx, notification.StuckScan{From: s.found.Began, To: soonDue}) },
		func() error { return s.events(ctx, notification.StuckScan{From: soonDue}, &s.found.AfterEvent) },
		func() error { return s.deliveries(ctx, notification.StuckScan{From: soonDue}) },
	}
	for ; s.found.Pass < len(passes); s.found.Pass++ {
		if err := passes[s.found.Pass](); err != nil {
			return Restored{}, err
		}
	}
	return s.found, nil
}

// newRestoreRun continues where this activity's last attempt ended.
func newRestoreRun(ctx context.Context, a *Activities, in RestoreInput) (*sweepRun, error) {
	s := &sweepRun{Activities: a, kind: restores}
	if in.Check {
		s.kind = counts
	}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &s.found); err != nil {
			return nil, fmt.Errorf("read the progress of the last attempt: %w", err)
		}
	}
	if s.found.Began.IsZero() {
		s.found.Began = time.Now().UTC()
		var err error
		if s.found.Events, s.found.Deliveries, err = a.Sweeps.OpenWork(ctx); err != nil {
			return nil, err
		}
	}
	s.begin, s.until = s.found.Began, s.found.Began.AddDate(1, 0, 0)
	s.pace = time.NewTicker(time.Second / time.Duration(max(in.Rate, 1)))
	return s, nil
}

func (r *Restored) addMissing(id string) {
	if len(r.MissingIDs) < maxMissingIDs {
		r.MissingIDs = append(r.MissingIDs, id)
	}
}
