package main

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"herald/activities"
)

// maxHistory is how many events of a history are looked at. An ordinary
// delivery has about ten; a digest goes on in another run before it has so many.
const maxHistory = 5000

// acts is never dereferenced: it only names the activities.
var acts *activities.Activities

// sends says that an activity calls a provider. Those that do say in their input
// how often they may try.
func sends(activity string) bool {
	return activity == registeredName(acts.Send) || activity == registeredName(acts.SendDigest)
}

// readHistory finds how often the latest sending may try, and in which digest
// the delivery is.
func (s *deliveryState) readHistory(ctx context.Context, temporal deliveryTemporal, id string) {
	var joining int64 // the event that scheduled the latest JoinDigest
	history := temporal.GetWorkflowHistory(ctx, id, s.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for n := 0; n < maxHistory && history.HasNext(); n++ {
		event, err := history.Next()
		if err != nil {
			return
		}
		scheduled, completed := event.GetActivityTaskScheduledEventAttributes(), event.GetActivityTaskCompletedEventAttributes()
		switch name := scheduled.GetActivityType().GetName(); {
		case sends(name):
			var input activities.SendInput
			if decodeFirst(scheduled.GetInput(), &input) {
				s.MaxAttempts, s.Before = input.MaxAttempts, input.AttemptsBefore
			}
		case name == registeredName(acts.JoinDigest):
			joining = event.GetEventId()
		case joining > 0 && completed.GetScheduledEventId() == joining:
			var joined activities.JoinResult
			if decodeFirst(completed.GetResult(), &joined) {
				s.DigestID = joined.DigestID
			}
		}
	}
}

func decodeFirst(payloads *commonpb.Payloads, into any) bool {
	list := payloads.GetPayloads()
	return len(list) > 0 && converter.GetDefaultDataConverter().FromPayload(list[0], into) == nil
}
