package main

import (
	"context"

	"herald/activities"
	"herald/workflows"
)

// takings are events that take back another event.
func takings() []*scenario {
	taking := event("notify_cancels", small())
	taking.input = []any{workflows.NotifyInput{Commands: 1, Cancels: "evt-0"}}
	return []*scenario{taking}
}

// CancelEvent finds nothing left to cancel.
func (a *actors) CancelEvent(context.Context, activities.CancelEventInput) (activities.CancelEventResult, error) {
	return activities.CancelEventResult{}, nil
}
