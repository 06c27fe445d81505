package activities

import (
	"context"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"herald/internal/notification"
)

// The metrics that activities record. The exporter adds _total to the name of a
// counter and _seconds to the name of a timer. docs/metrics.md lists all metrics.
var (
	OutboxClaimsMetric    = declare("herald_outbox_claims", "Events claimed from the outbox.")
	OutboxResultsMetric   = declare("herald_outbox_results", "Ended claims of events, by result.")
	EventsMetric          = declare("herald_events", "Events whose planning ended, by outcome.")
	ApprovalsMetric       = declare("herald_approvals", "Events that need approval, by step: ASKED, ENDS_SOON, APPROVED, REJECTED.")
	SweepMetric           = declare("herald_sweep", "Events and deliveries without a workflow, by the sweep's action.")
	PassedOverMetric      = declare("herald_recipients_passed_over", "Recipients that planning passed over, by reason.")
	DeliveriesMetric      = declare("herald_deliveries", "Deliveries that ended.")
	AttemptsMetric        = declare("herald_attempts", "Attempts at deliveries and digests that ended.")
	FailoversMetric       = declare("herald_failovers", "Messages that a later provider took after an earlier provider failed.")
	SegmentsMetric        = declare("herald_sms_segments", "Segments of text messages that a provider took. The provider charges for each.")
	RetriesMetric         = declare("herald_retries", "Attempts after the first of a run.")
	DeadLettersMetric     = declare("herald_dead_letters", "Failed deliveries published to the dead-letter queue.")
	NotSentMetric         = declare("herald_not_sent", "Deliveries that a rule stopped, at planning or before an attempt, by decision.")
	DigestsMetric         = declare("herald_digests", "Digests that ended.")
	DigestItemsMetric     = declare("herald_digest_items", "Deliveries sent in digests.")
	ProviderLatencyMetric = declare("herald_provider_latency", "Time of one call to a provider, with any answer.")
	CommitToSentMetric    = declare("herald_commit_to_sent", "Time from an event's transaction to the record that its message was sent.")
	TurnWaitMetric        = declare("herald_turn_wait",
		"Time that a message, or some messages of a batch, waited for a turn of the channel's rate limit.")
	SinkRefusalsMetric = declare("herald_sink_refusals", "Records that the broker of a topic refused.")
	UntoldRowsMetric   = declare("herald_rows_untold",
		"Rows of outboxes that can notify nobody: their payload is not a JSON object of at most 256 KiB, or their event id is taken.")
	CommitToTopicMetric = declare("herald_commit_to_acknowledged",
		"Time from an event's creation until the broker of its topic acknowledges it.")
	RowsDeletedMetric = declare("herald_outbox_deleted", "Finished rows deleted from outboxes and from Herald's tables.")
	EscalationsMetric = declare("herald_escalations", "Escalations that ended, by outcome.")
	YieldsMetric      = declare("herald_rests", "Pauses of batches and of planning of large events, made because a single message was late.")
)

// metricHelp holds the help of each metric, by name.
var metricHelp = map[string]string{}

func declare(name, help string) string {
	metricHelp[name] = help
	return name
}

// MetricHelp returns the help of a metric; empty: activities do not record it.
func MetricHelp(name string) string { return metricHelp[name] }

// The only labels of these metrics. Each has few values, for any number of messages. A worker
// removes all other labels.
var (
	ChannelLabel  = label("channel")
	OutcomeLabel  = label("outcome")
	SourceLabel   = label("source")
	FromLabel     = label("from")     // a channel
	ToLabel       = label("to")       // a channel
	ProviderLabel = label("provider") // of a channel
)

var labels []string

func label(name string) string {
	labels = append(labels, name)
	return name
}

// Labels returns the names of all labels.
func Labels() []string { return slices.Clone(labels) }

// eventTold is the outcome in EventsMetric if processed_event has none: the event told everybody
// that the rules named.
const eventTold = "TOLD"

// The steps of ApprovalsMetric without an answer.
const (
	approvalAsked    = "ASKED"
	approvalEndsSoon = "ENDS_SOON" // nobody answered for six days
)

// The outcomes of SweepMetric.
const (
	sweepStartedAgain = "STARTED_AGAIN"
	sweepClosed       = "CLOSED"
	sweepFailed       = "FAILED"
)

// The outcomes of PassedOverMetric.
const (
	unknownUserType = "UNKNOWN_USER_TYPE"
	unusableUserID  = "UNUSABLE_USER_ID"
)

var attemptOutcomes = []notification.AttemptOutcome{
	notification.OutcomeSent, notification.OutcomeRefused, notification.OutcomeBusy, notification.OutcomeUnreachable,
	notification.OutcomeUnavailable,
	notification.OutcomeAccount, notification.OutcomeAmbiguous, notification.OutcomeOff, notification.OutcomeError,
}

// ZeroMetrics creates the counters that alerts use with the value 0: if a counter appears with the
// value 1, a rate does not see the increase.
func ZeroMetrics(metrics client.MetricsHandler, channels []notification.Channel, sources []string) {
	zero(metrics, OutboxClaimsMetric, YieldsMetric)
	zeroOutcomes(metrics, OutboxResultsMetric, notification.ClaimStarted, notification.ClaimFailed, notification.ClaimReleased,
		notification.ClaimKept)
	for _, outcome := range append(notification.EventOutcomes(), eventTold) {
		if outcome != notification.AwaitingApproval { // the event has not ended
			zeroOutcomes(metrics, EventsMetric, outcome)
		}
	}
	zeroOutcomes(metrics, ApprovalsMetric, approvalAsked, approvalEndsSoon, string(notification.Approved), string(notification.Rejected))
	zeroOutcomes(metrics, SweepMetric, sweepStartedAgain, sweepClosed, sweepFailed)
	zeroOutcomes(metrics, PassedOverMetric, unknownUserType, unusableUserID)
	for _, source := range sources {
		zero(metrics.WithTags(map[string]string{SourceLabel: source}), RowsDeletedMetric, SinkRefusalsMetric, UntoldRowsMetric)
	}
	for _, channel := range channels {
		for _, to := range channels {
			if channel != to {
				escalations(metrics, notification.Escalation{From: channel, To: to}, notification.EscalationFollowed).Inc(0)
			}
		}
		labelled := metrics.WithTags(map[string]string{ChannelLabel: string(channel)})
		zero(labelled, FailoversMetric, RetriesMetric, DeadLettersMetric, DigestItemsMetric)
		for _, decision := range notification.Decisions() {
			if decision != notification.DecisionSelected {
				zeroOutcomes(labelled, NotSentMetric, decision)
			}
		}
		zeroOutcomes(labelled, AttemptsMetric, attemptOutcomes...)
		zeroOutcomes(labelled, DeliveriesMetric, notification.Sent, notification.Failed, notification.Cancelled)
		zeroOutcomes(labelled, DigestsMetric, notification.Sent, notification.Failed, notification.Cancelled)
	}
}

func zero(metrics client.MetricsHandler, names ...string) {
	for _, name := range names {
		metrics.Counter(name).Inc(0)
	}
}

func zeroOutcomes[Outcome ~string](metrics client.MetricsHandler, name string, outcomes ...Outcome) {
	for _, outcome := range outcomes {
		zero(byOutcome(metrics, outcome), name)
	}
}

func byChannel(ctx context.Context, channel notification.Channel) client.MetricsHandler {
	return activity.GetMetricsHandler(ctx).WithTags(map[string]string{ChannelLabel: string(channel)})
}

func byOutcome[Outcome ~string](metrics client.MetricsHandler, outcome Outcome) client.MetricsHandler {
	return metrics.WithTags(map[string]string{OutcomeLabel: string(outcome)})
}

// countOutcomes adds counts to a metric after the outcomes are recorded. An unrecorded event is
// claimed again, and counted then.
func countOutcomes[Outcome ~string](metrics client.MetricsHandler, name string, counts map[Outcome]int) {
	for outcome, count := range counts {
		byOutcome(metrics, outcome).Counter(name).Inc(int64(count))
	}
}

func countApproval(ctx context.Context, step string) {
	byOutcome(activity.GetMetricsHandler(ctx), step).Counter(ApprovalsMetric).Inc(1)
}

// countPassedOver counts people whose user type or user id Herald cannot use. It counts them when
// the first page of the event is planned.
func countPassedOver(ctx context.Context, some notification.PassedOver) {
	outcome := unknownUserType
	if some.Known {
		outcome = unusableUserID
	}
	byOutcome(activity.GetMetricsHandler(ctx), outcome).Counter(PassedOverMetric).Inc(int64(some.Count))
}

// countAttempts counts attempts that ended, and records the time of each call to the provider.
func countAttempts(ctx context.Context, channel notification.Channel, ended ...notification.AttemptResult) {
	metrics := byChannel(ctx, channel)
	latency, outcomes := metrics.Timer(ProviderLatencyMetric), map[notification.AttemptOutcome]int{}
	for _, attempt := range ended {
		outcomes[attempt.Outcome]++
		if attempt.Took > 0 {
			latency.Record(attempt.Took)
		}
	}
	countOutcomes(metrics, AttemptsMetric, outcomes)
}

func countSegments(ctx context.Context, answer notification.Answer) {
	if answer.Segments > 0 {
		metrics := activity.GetMetricsHandler(ctx).WithTags(map[string]string{ProviderLabel: answer.Provider})
		metrics.Counter(SegmentsMetric).Inc(int64(answer.Segments))
	}
}

// countDeliveries counts deliveries that ended as SENT, FAILED or CANCELLED.
func countDeliveries(ctx context.Context, channel notification.Channel, status notification.Status, count int) {
	if count > 0 {
		byOutcome(byChannel(ctx, channel), status).Counter(DeliveriesMetric).Inc(int64(count))
	}
}

// countEnd counts a delivery that was given up.
func countEnd(ctx context.Context, channel notification.Channel, status notification.Status, reason string) {
	countDeliveries(ctx, channel, status, 1)
	if decision := notification.Decision(reason); slices.Contains(notification.Decisions(), decision) {
		byOutcome(byChannel(ctx, channel), reason).Counter(NotSentMetric).Inc(1)
	}
}

// countDigest counts a digest that ended as SENT, FAILED or CANCELLED. A digest that
// was sent ended its deliveries too. The deliveries of a digest that was not sent end in
// [Activities.GiveUp], which counts them.
func countDigest(ctx context.Context, channel notification.Channel, status notification.Status, items int) {
	metrics := byChannel(ctx, channel)
	byOutcome(metrics, status).Counter(DigestsMetric).Inc(1)
	if status == notification.Sent {
		metrics.Counter(DigestItemsMetric).Inc(int64(items))
		byOutcome(metrics, status).Counter(DeliveriesMetric).Inc(int64(items))
	}
}

// countNotSent counts a page's decisions not to tell a recipient over a channel.
func countNotSent(ctx context.Context, page []notification.DecidedRecipient) {
	type result struct {
		channel  notification.Channel
		decision notification.Decision
	}
	counts := map[result]int64{}
	for _, recipient := range page {
		for channel, decision := range recipient.Decisions {
			if decision != notification.DecisionSelected {
				counts[result{channel, decision}]++
			}
		}
	}
	for found, count := range counts {
		byOutcome(byChannel(ctx, found.channel), found.decision).Counter(NotSentMetric).Inc(count)
	}
}

// escalations returns the counter of escalations that ended. A repeated call of Escalate counts
// them again.
func escalations(
	metrics client.MetricsHandler, escalation notification.Escalation, outcome notification.EscalationOutcome,
) client.MetricsCounter {
	labelled := metrics.WithTags(map[string]string{FromLabel: string(escalation.From), ToLabel: string(escalation.To)})
	return byOutcome(labelled, outcome).Counter(EscalationsMetric)
}

func countDeadLetter(ctx context.Context, channel notification.Channel) {
	byChannel(ctx, channel).Counter(DeadLettersMetric).Inc(1)
}

// observeCommitToSent records the times from an event's transaction to the record that its
// message was sent. It skips the age 0, which is unknown.
func observeCommitToSent(ctx context.Context, channel notification.Channel, recorded ...notification.RecordedAttempt) {
	ages := byChannel(ctx, channel).Timer(CommitToSentMetric)
	for _, attempt := range recorded {
		if attempt.Age > 0 {
			ages.Record(attempt.Age)
		}
	}
}
