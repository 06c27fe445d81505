package explain

import (
	"slices"

	"herald/internal/notification"
)

// whyUndecided tells why there is no decision, as far as the current rows tell.
var whyUndecided = []state{
	{when: func(m moment) bool { return m.why.DecidedAt != nil && value(m.why.Rules.Routing).OnEscalationOnly },
		says: "nothing was decided about $channel: it is on_escalation_only, so the rules decide about it when an earlier delivery " +
			"does not arrive, or at once if the earlier channel cannot reach the recipient"},
	{when: func(m moment) bool { return m.why.DecidedAt != nil },
		says: "nothing was decided about $channel: the event's type was not routed over it when the event was planned"},
	{when: moment.cancelled, says: "nothing was decided: the event was $cancelled"},
	{outbox: notification.OutboxPending, says: "nothing was decided yet: the event waits in the outbox to be started"},
	{outbox: notification.OutboxFailed, says: "nothing was decided: the event could not be started: $error"},
	{when: func(m moment) bool { return len(m.why.Rules.RoutedChannels) == 0 },
		says: "nothing was decided about anybody: the event's type has no rows in event_type_channel_routing"},
	{when: func(m moment) bool { return !m.why.Rules.RecipientActive }, says: "nothing was decided about them: $missing"},
	{when: func(m moment) bool { return len(m.why.Rules.Unreached) > 0 },
		says: "nothing was decided about them, since the event does not name them: $unreached"},
	{event: notification.Processing, says: "nothing was decided about them yet: the event is being planned"},
	{event: notification.ProcessedFailed,
		says: "nothing was decided about them: the event was cancelled, or could not be planned, before it came to them"},
	{says: "nothing was decided about them when the event was planned; by the present rules the event names them"},
}

// missing tells why somebody who is not active gets nothing of any event.
func missing(isKnown bool) string {
	if !isKnown {
		return "they are not in the directory (recipient)"
	}
	return "they are not active (recipient), or were erased"
}

// nextUnplanned is the next step without a delivery.
var nextUnplanned = slices.Concat([]state{
	{when: func(m moment) bool { return m.why.Decision == notification.DecisionSelected }, says: "nothing: its delivery was purged"},
	{when: func(m moment) bool { return m.why.Decision != "" }, says: "nothing: decisions stay. For future events: $future"},
	{when: moment.cancelled, says: "nothing: to send it after all, write a new event"},
	{outbox: notification.OutboxPending, says: "a poller starts it; `starter poller status` shows if one runs"},
	{outbox: notification.OutboxFailed, says: "nothing, until an operator corrects it and runs $replan"},
	{when: func(m moment) bool { return value(m.why.EventWorkflow).Status == Running },
		says: "its workflow is running; $event shows its progress"},
	{event: notification.ProcessedFailed, says: "nothing, until an operator runs $replan"},
}, nextMissed, []state{
	{says: "nothing: an event is planned once. Corrected rows count for future events"},
})

// nextMissed is the next step of an event that missed recipients because of the rules.
var nextMissed = []state{
	{outcome: notification.NoRouting,
		says: "nobody was told. Give its type rows in event_type_channel_routing; then $replan plans it again"},
	{outcome: notification.NoRecipients,
		says: "nobody was told. Correct event_type_recipients, the directory or the payload; then $replan plans it again"},
	{outcome: notification.EventProblem,
		says: "some rows of its rules named nobody. Correct them; then $replan tells the missing recipients, and nobody twice"},
}

// nextOfEnd is the next step of an event that has ended.
var nextOfEnd = slices.Concat(nextMissed, []state{
	{outcome: notification.EventRejected, says: "nobody was told. To send it after all, write another event"},
	{outcome: notification.Incomplete, says: "within 10 minutes, the sweep starts its PENDING deliveries again, see `starter status`"},
	{},
})

// nextOfDelivery is the next step of a delivery.
var nextOfDelivery = []state{
	{delivery: notification.Sent, says: "nothing: it was sent at $sent$read$replaced$receipt"},
	{delivery: notification.Delivered, says: "nothing: it arrived at $delivered$read$replaced"},
	{when: func(m moment) bool { return m.why.ErasedAt != nil && m.delivery.Status != notification.Pending },
		says: "nothing: its recipient was erased at $erased, and gets no more messages"},
	{delivery: notification.Cancelled, then: nextOfCancelled},
	{workflow: Running, then: nextOfRunning},
	{when: func(m moment) bool { return m.workflow.Batch != nil }, then: nextInBatch},
	{delivery: notification.Failed, then: nextOfFailed},
	{workflow: Unreachable, says: "unknown, because Temporal is out of reach. By its row it $wait"},
	{workflow: Unknown, when: func(m moment) bool { return m.workflow.TaskQueue != "" && m.workflow.Workers == 0 },
		says: "nothing, until a worker serves events: $absent. Start one"},
	{workflow: Unknown, event: notification.Processing, says: "its event's workflow starts it; $event shows its progress"},
	{workflow: Unknown, says: "nothing: no workflow has it. Run $retry"},
	{says: "nothing: its workflow is $status. Run $retry"},
}

var nextOfCancelled = []state{
	{when: func(m moment) bool { return m.outbox.CancelledBy != "" },
		says: "nothing: its event was $cancelled. To send it after all, run $retry"},
	{when: func(m moment) bool { return m.delivery.ReplacedBy != "" },
		says: "nothing: event $replacement took its place while it waited. To send it after all, run $retry"},
	{when: func(m moment) bool { return m.dropped() != "" && m.remedy() != "" },
		says: "nothing: it waited, and when it was due $dropped. To send it, first $remedy; then run $retry"},
	{when: func(m moment) bool { return m.dropped() != "" },
		says: "nothing: it waited, and when it was due $dropped. To send it after all, run $retry"},
	{says: "nothing: it was cancelled. To send it after all, run $retry"},
}

var nextOfRunning = []state{
	{when: func(m moment) bool { return m.sender.Status == Running && m.sender.Workers == 0 },
		says: "nothing, until a worker serves $channel: $absent. Start one"},
	{when: func(m moment) bool { return m.sender.Status != Running }, says: "it joins another digest by itself: $digest is $status"},
	{when: func(m moment) bool { return m.send.State != "" }, then: nextAttempt},
	{when: func(m moment) bool { return m.workflow.Digest != nil }, says: "it is sent in its digest $digest, which says: $details. $hasten"},
	{when: func(m moment) bool { return len(m.workflow.Pending) > 0 }, says: "its workflow is at $activity; $show has its last failure"},
	{when: func(m moment) bool { return m.sender.WaitsUntil != nil && m.sender.Details != "" }, says: "it is $details$ahead. $hasten"},
	{when: moment.waits, says: "it $wait. $hasten"},
	{says: "its workflow continues: look again in a moment"},
}

var nextAttempt = []state{
	{sending: Started, says: "$attempt is under way, since $started"},
	{sending: Paused, says: "$attempt is paused: resume the activity in the Temporal Web UI"},
	{when: func(m moment) bool { return m.send.NextAttempt == nil }, says: "$attempt is due: a worker takes it in a moment"},
	{when: moment.senderPaused, says: "it waits: $failure. $hasten"},
	{when: func(m moment) bool { return m.rejected },
		says: "the provider rejects our account: it is tried once a minute, next at $due, and fails a day after the first time. " +
			"Correct the workers' credentials for $channel"},
	{when: func(m moment) bool { return !m.outage.IsZero() },
		says: "the provider is busy or out of reach: attempts count again from $counting on, and the next is due at $due. $hasten"},
	{says: "the next attempt is due at $due, $attempt. $hasten"},
}

var nextInBatch = []state{
	{when: func(m moment) bool { return m.sender.Workers == 0 && !m.sender.UnderWay() }, // a worker without free slots does not poll
		says: "nothing, until a worker serves $channel: $absent. Start one"},
	{when: func(m moment) bool { return len(m.delivery.Log) == 0 && m.senderPaused() },
		says: "it waits in the batch $batch: $failure. Until then, $cancel can stop it"},
	{when: func(m moment) bool { return len(m.delivery.Log) == 0 },
		says: "the running batch $batch sends it; until then, $cancel can stop it"},
	{when: func(m moment) bool { return m.last.EndedAt == nil },
		says: "its attempt in the batch $batch is under way; if a crash ended it, a separate workflow makes the next"},
	{says: "a separate workflow makes the next attempt, after the batch $batch has made all first attempts"},
}

var nextOfFailed = []state{
	{when: func(m moment) bool { return m.delivery.ReceiptFailed && m.suppressed() },
		says: "nothing: its provider accepted it, and said later that it did not arrive. " +
			"The address is suppressed: first $unsuppress, then run $retry"},
	{when: func(m moment) bool { return m.delivery.ReceiptFailed },
		says: "nothing: its provider accepted it, and said later that it did not arrive. The last error has its reason. " +
			"If the address does not work, first enter another one (recipient), then run $retry"},
	{when: func(m moment) bool { return !m.delivery.HasText },
		says: "nothing: it failed. Correct the template, the payload or the time zone that the last error names, then run $retry"},
	{attempt: notification.OutcomeOff,
		says: "nothing: it failed. Correct the settings that the last error names, for the workers that serve $channel, " +
			"and restart them, then run $retry"},
	{attempt: notification.OutcomeRefused, when: func(m moment) bool { return m.last.ProviderStatus == 0 },
		says: "nothing: it failed. Correct what the last error names: the recipient's address, the text, or a setting of the workers, " +
			"then run $retry"},
	{attempt: notification.OutcomeRefused,
		says: "nothing: it failed. Correct what the provider refused: the recipient's address, or the text, then run $retry"},
	{attempt: notification.OutcomeAccount, says: "nothing: it failed. Correct the workers' credentials for $channel, then run $retry"},
	{when: func(m moment) bool { return slices.Contains(forNow, m.last.Outcome) },
		says: "nothing: it failed. Wait until the provider answers again, then run $retry"},
	{says: "nothing: it failed. Correct what the last error names, then run $retry"},
}

// forNow lists the outcomes after which a provider may accept the same message later.
var forNow = []notification.AttemptOutcome{
	notification.OutcomeBusy, notification.OutcomeUnreachable, notification.OutcomeUnavailable, notification.OutcomeAmbiguous,
}
