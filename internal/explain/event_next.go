package explain

import (
	"fmt"

	"herald/internal/advice"
	"herald/internal/notification"
)

// next says what happens next to an event, and what an operator can do about it; empty:
// there is nothing to say.
func (v EventView) next() string {
	if v.Workflow.Status == Running {
		return nextOfFailing(v.Pending)
	}
	if v.Processed == nil || v.Outbox == nil || v.Outbox.CancelledBy != "" {
		return ""
	}
	return nextOfOutcome(v.EventID, v.Processed.Outcome)
}

// nextOfOutcome says what to do about an event that ended so; empty: nothing.
func nextOfOutcome(id string, outcome notification.EventOutcome) string {
	retry := fmt.Sprintf("`starter event retry %s`", advice.Quote(id))
	switch outcome {
	case notification.Incomplete:
		return "the sweep starts what is PENDING again within 10 minutes, see `starter status`"
	case notification.NoRouting:
		return "nobody was told. Give its type rows in event_type_channel_routing; then " + retry + " plans it anew"
	case notification.NoRecipients:
		return "nobody was told. Mend the rows of event_type_recipients, the directory or the payload's producer; then " + retry + " plans it anew"
	case notification.EventProblem:
		return "some rows of its rules named nobody. Mend what the problem names; then " + retry + " tells those who were left out, and nobody twice"
	default:
		return ""
	}
}

// nextOfFailing says what fails of what a running event's workflow does; empty: nothing.
func nextOfFailing(pending []PendingActivity) string {
	for _, p := range pending {
		if p.LastFailure == "" {
			continue
		}
		meaning := failureMeaning(p)
		return fmt.Sprintf("%s failed %s%s: %s. %s; it then goes on by itself", stepOf(p.Activity), times(p), when(p), meaning.what, meaning.remedy)
	}
	return ""
}

// stepOf is what an activity of an event does.
func stepOf(activity string) string {
	switch activity {
	case registeredName(acts.PlanDeliveries):
		return "planning"
	case registeredName(acts.PublishEvent):
		return "publishing its message"
	case registeredName(acts.CancelEvent):
		return "cancelling the other event"
	case registeredName(acts.FinishEvent):
		return "recording its end"
	default:
		return activity
	}
}

func times(p PendingActivity) string {
	failed := p.Attempt - 1 // the attempt that is due or under way has not failed
	if failed <= 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", failed)
}

func when(p PendingActivity) string {
	switch {
	case p.State == Started:
		return ", and is being tried again"
	case p.State == Paused:
		return ", and is paused: resume the activity in the Temporal Web UI"
	case p.NextAttempt != nil:
		return ", and is tried again at " + clock(p.NextAttempt)
	default:
		return ", and is tried again in a moment"
	}
}
