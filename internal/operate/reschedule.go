package operate

import (
	"context"
	"time"

	"herald/workflows"
)

// Reschedule makes waiting deliveries wait until another time. The outcome warns if quiet hours
// apply at that time. They are checked again when the time comes.
func Reschedule(until time.Time) Verb {
	return signalling("reschedule", signal{
		name: workflows.Reschedule, argument: until,
		told: Outcome{Result: "told to wait", Detail: "until " + clock(&until)},
		warn: func(o *Operator, ctx context.Context, id string) (string, error) {
			return o.quietWarning(ctx, id, until)
		},
	})
}

// quietWarning tells how quiet hours affect a delivery at a time; empty: not at all.
func (o *Operator) quietWarning(ctx context.Context, id string, at time.Time) (string, error) {
	check, err := o.Store.QuietCheck(ctx, id)
	if err != nil {
		return "", err
	}
	return check.Ahead(at, time.Now()), nil
}
