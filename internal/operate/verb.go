package operate

import (
	"context"
	"fmt"
)

// Verb is a change that an operator can make to one delivery or event at a time.
type Verb struct {
	Name    string // such as cancel
	Noun    Noun
	Repeats bool // a second run does the change again

	plan func(o *Operator, ctx context.Context, id string) (plan, error)
}

// Noun is the kind of thing that a verb changes.
type Noun struct{ One, Many string }

func (n Noun) count(count int) string {
	if count == 1 {
		return "1 " + n.One
	}
	return fmt.Sprintf("%d %s", count, n.Many)
}

var (
	Deliveries = Noun{"delivery", "deliveries"}
	Events     = Noun{"event", "events"}
)

// plan is a verb's decision about one delivery or event, by its current state. A dry run only
// plans. A run plans first.
type plan struct {
	expected Outcome                                    // the outcome of a dry run, or of a run that changes nothing
	do       func(ctx context.Context) (Outcome, error) // nil: there is nothing to change
}

// refusal is a plan to change nothing.
func refusal(why Outcome) plan { return plan{expected: why} }
