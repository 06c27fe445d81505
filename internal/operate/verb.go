package operate

import (
	"context"
	"fmt"
)

// Verb is something that can be done to deliveries or events, to one at a time.
type Verb struct {
	Name    string // cancel
	Noun    Noun
	Repeats bool // another run does once more what was done

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

// The nouns.
var (
	Deliveries = Noun{"delivery", "deliveries"}
	Events     = Noun{"event", "events"}
)

// plan is a verb's decision about one delivery or event, as it is now. A dry run ends
// with it, and a run begins with it.
type plan struct {
	expected Outcome                                    // of a dry run, and of a run that changes nothing
	do       func(ctx context.Context) (Outcome, error) // nil: nothing is to be changed
}

// refusal is a plan to change nothing.
func refusal(why Outcome) plan { return plan{expected: why} }

// Outcome is the result for one delivery or event.
type Outcome struct {
	ID     string `json:"id"`
	Done   bool   `json:"done"`
	Result string `json:"result"`           // the same for all alike
	Detail string `json:"detail,omitempty"` // what is particular to this one
	Next   string `json:"-"`                // what to do where it was not done
	Err    error  `json:"-"`                // why it could not be tried
}

// String is an outcome in a sentence.
func (o Outcome) String() string {
	if o.Detail == "" {
		return o.Result
	}
	return fmt.Sprintf("%s: %s", o.Result, o.Detail)
}
