package operate

import (
	"context"
	"time"

	"herald/workflows"
)

// Reschedule gives deliveries that wait another time. The outcome warns of quiet
// hours at that time, which are judged once more when it comes.
func Reschedule(until time.Time) Verb {
	return signalling("reschedule", signal{
		name: workflows.Reschedule, argument: until,
		told: Outcome{Result: "told to wait", Detail: "until " + clock(&until)},
		warn: func(o *Operator, ctx context.Context, id string) (string, error) {
			return o.quietWarning(ctx, id, until)
		},
	})
}

// quietWarning says what quiet hours will do to a delivery at a time; empty: they
// leave it alone.
func (o *Operator) quietWarning(ctx context.Context, id string, at time.Time) (string, error) {
	check, err := o.Store.QuietCheck(ctx, id)
	if err != nil {
		return "", err
	}
	return check.Ahead(at, time.Now()), nil
}
