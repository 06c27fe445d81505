package operate

import (
	"context"

	"herald/internal/advice"
	"herald/internal/event"
)

// eventChange is an order to change one event.
type eventChange struct {
	*Operator
	id    string
	state event.EventState
}

// eventVerb returns a verb of events. decide plans the change of one event.
func eventVerb(name string, decide func(eventChange, context.Context) (plan, error)) Verb {
	return Verb{Name: name, Noun: Events, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		c, err := o.event(ctx, id)
		if err != nil {
			return plan{}, err
		}
		return decide(c, ctx)
	}}
}

// event reads the state of an event.
func (o *Operator) event(ctx context.Context, id string) (eventChange, error) {
	state, err := event.On(o.DB).EventState(ctx, id)
	return eventChange{o, id, state}, advice.NoEvent(id, err)
}

// is returns an outcome of the event.
func (c eventChange) is(code Code) Outcome {
	return Outcome{ID: c.id, Code: code, Args: Args{Error: c.state.Error, Other: c.state.Cancels}}
}

// counted returns an outcome of the event, with the counts of its deliveries.
func (c eventChange) counted(ctx context.Context, code Code) (Outcome, error) {
	outcome := c.is(code)
	var err error
	outcome.Counts, err = event.On(c.DB).EventCounts(ctx, c.id)
	return outcome, err
}
