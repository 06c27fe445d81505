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

	Resend notification.Resend `json:",omitempty"` // what to do with ambiguous rows
}

// soon is the time from the begin of a restore within which rows count as due soon.
const soon = time.Hour

// Restore starts the workflow of each open row that Temporal does not run, such as after a loss of
// Temporal's database: first what is due, then what is due within the hour, then the rest. It is a sweep
// without a minimum age, without a limit of restarts and without an end before the last row. A second
// restore, and a restore next to a Temporal that has everything, start nothing. An ambiguous row is
// started or ended only by an order. Each scan has the rows of the one before, too, because a row may
// become due in between.
//
// When its process dies, the next attempt continues after the last handled row.
func (a *Activities) Restore(ctx context.Context, in RestoreInput) (notification.Restored, error) {
	s, err := newRestoreRun(ctx, a, in)
	if err != nil {
		return notification.Restored{}, err
	}
	defer s.pace.Stop()
	scans := []notification.StuckScan{{To: s.found.Began}, {To: s.found.Began.Add(soon)}, {}}
	if in.Check {
		scans = []notification.StuckScan{{}} // counts each row once
	}
	for ; s.found.Pass < 2*len(scans); s.found.Pass++ {
		scan := scans[s.found.Pass/2]
		if s.found.Pass%2 == 0 {
			err = s.events(ctx, scan, &s.found.AfterEvent)
		} else {
			err = s.deliveries(ctx, scan)
		}
		if err != nil {
			return notification.Restored{}, err
		}
	}
	return s.found, nil
}

// newRestoreRun continues where this activity's last attempt ended.
func newRestoreRun(ctx context.Context, a *Activities, in RestoreInput) (*sweepRun, error) {
	s := &sweepRun{Activities: a, kind: restores, resend: in.Resend}
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
