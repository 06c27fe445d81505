package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"herald/internal/notification"
)

// SinkStore is what producing needs of Herald's database.
type SinkStore interface {
	SinkState(ctx context.Context, eventID string) (notification.SinkState, error)
	CountRefusal(ctx context.Context, eventID string) (refusals int, err error)
	FailAtSink(ctx context.Context, eventID, why string) error
	ReopenAtSink(ctx context.Context, eventID string) error
	Acknowledge(ctx context.Context, ids []string) (ages []time.Duration, err error)
}

// TopicPolicy is how often a topic is asked. It travels in the histories, so that a
// running event keeps the policy that it was started with.
type TopicPolicy struct {
	Retries       int           // after the first attempt; notification.RetryForever: no end
	RetryInterval time.Duration // before the first retry; it doubles, up to 5 minutes
}

// ProduceEventInput is the input of [Activities.ProduceEvent].
type ProduceEventInput struct {
	EventID string
	Source  string
	Policy  TopicPolicy
}

// ProduceEventResult is the result of [Activities.ProduceEvent].
type ProduceEventResult struct {
	Marked bool // false: the topic has the event, and no table says so yet
}

// produceTimeout leaves the activity time to record what the broker said.
const produceTimeout = 15 * time.Second

// ProduceEvent sends an event to its topic, and marks it in event_outbox and in its own
// table. Where only the marks fail, it ends well and says so: a repeat would send the
// event again. A crash between acknowledgement and marks does send it once more. A broker
// out of reach is waited for and counts as nothing; a refusal is counted, and after the
// last one the event is FAILED.
func (a *Activities) ProduceEvent(ctx context.Context, in ProduceEventInput) (ProduceEventResult, error) {
	source, err := a.topicSource(in.Source)
	if err != nil {
		return ProduceEventResult{}, err
	}
	state, err := a.Sinks.SinkState(ctx, in.EventID)
	switch {
	case err != nil:
		return ProduceEventResult{}, failure(err)
	case state.Failed != "":
		return ProduceEventResult{}, permanent(errors.New(state.Failed), SinkRefused)
	case !state.Acknowledged:
		if err := a.produce(ctx, source, in); err != nil {
			return ProduceEventResult{}, err
		}
	}
	if err := a.markProduced(ctx, source, in.EventID); err != nil {
		activity.GetLogger(ctx).Warn("the topic has an event, and its tables cannot be told yet", "event_id", in.EventID, "source", in.Source, "error", Unquoted(err))
		return ProduceEventResult{}, nil
	}
	return ProduceEventResult{Marked: true}, nil
}

// MarkProducedInput is the input of [Activities.MarkProduced].
type MarkProducedInput struct {
	EventID string
	Source  string
}

// MarkProduced makes the marks that [Activities.ProduceEvent] could not make.
func (a *Activities) MarkProduced(ctx context.Context, in MarkProducedInput) error {
	source, err := a.topicSource(in.Source)
	if err != nil {
		return err
	}
	return a.markProduced(ctx, source, in.EventID)
}

// ReopenAtTopicInput is the input of [Activities.ReopenAtTopic].
type ReopenAtTopicInput struct {
	EventID string
	Source  string
}

// ReopenAtTopic begins an event anew that its topic has refused for good, so that the next
// [Activities.ProduceEvent] sends it: in event_outbox, then in its own table. Where that
// cannot be told, its row is marked once the topic has the event, all the same.
func (a *Activities) ReopenAtTopic(ctx context.Context, in ReopenAtTopicInput) error {
	source, err := a.topicSource(in.Source)
	if err != nil {
		return err
	}
	if err := a.Sinks.ReopenAtSink(ctx, in.EventID); err != nil || source.Table == nil {
		return err
	}
	if err := source.Table.Reopen(ctx, []string{source.Config.Key(in.EventID)}); err != nil {
		activity.GetLogger(ctx).Warn("a row stays failed in its own table until its topic has the event", "event_id", in.EventID, "source", in.Source, "error", Unquoted(err))
	}
	return nil
}

// topicSource finds a source that has a topic. Events wait for a worker that knows theirs.
func (a *Activities) topicSource(name string) (Source, error) {
	source, known := a.Sources[name]
	if !known || source.Topics == nil {
		return Source{}, fmt.Errorf("this worker has no topic for the outbox source %q: give all workers the same OUTBOX_SOURCES and KAFKA_BROKERS", name)
	}
	return source, nil
}

func (a *Activities) produce(ctx context.Context, source Source, in ProduceEventInput) error {
	row, err := a.sourceRow(ctx, source, in.EventID)
	if err == nil {
		err = send(ctx, source, in.EventID, row)
	}
	var refused *notification.SinkRefusedError
	if !errors.As(err, &refused) {
		return unjudged(err)
	}
	ofSource(ctx, in.Source).Counter(SinkRefusalsMetric).Inc(1)
	refusals, err := a.Sinks.CountRefusal(ctx, in.EventID)
	if err != nil {
		return failure(err)
	}
	decided := in.Policy.refusal(refused, refusals)
	if !isPermanent(decided) {
		return decided
	}
	activity.GetLogger(ctx).Error("event is refused by its topic", "event_id", in.EventID, "source", in.Source, "refusals", refusals, "error", refused)
	// Its own table comes first: a row that is pending after its event has failed was set back by its service.
	if source.Table != nil {
		if err := source.Table.MarkFailed(ctx, []string{source.Config.Key(in.EventID)}, refused.Error()); err != nil {
			return err
		}
	}
	if err := a.Sinks.FailAtSink(ctx, in.EventID, refused.Error()); err != nil {
		return err
	}
	return decided
}

// send hands the record of an event to its topic.
func send(ctx context.Context, source Source, eventID string, row notification.SourceRow) error {
	record, err := source.Config.Record(eventID, row)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, produceTimeout)
	defer cancel()
	return source.Topics.Produce(ctx, record)
}

// sourceRow reads an event as its topic gets it: byte for byte from its own table.
func (a *Activities) sourceRow(ctx context.Context, source Source, eventID string) (notification.SourceRow, error) {
	if source.Table == nil {
		event, _, err := a.Events.Event(ctx, eventID)
		return notification.SourceRow{
			Key: event.ID, EventType: event.Type, AggregateType: event.AggregateType, AggregateID: event.AggregateID,
			CorrelationID: event.CorrelationID, Payload: event.Payload, CreatedAt: event.CreatedAt,
		}, err
	}
	rows, err := source.Table.Rows(ctx, []string{source.Config.Key(eventID)})
	if err != nil {
		return notification.SourceRow{}, err
	}
	if len(rows) == 0 {
		return notification.SourceRow{}, &notification.SinkRefusedError{Code: notification.ErrNoSourceRow.Error(), Permanent: true}
	}
	return rows[0], nil
}

// markProduced records the acknowledgement in event_outbox, then in the event's own table.
// What comes between is made good by the walk of the poller.
func (a *Activities) markProduced(ctx context.Context, source Source, eventID string) error {
	ages, err := a.Sinks.Acknowledge(ctx, []string{eventID})
	if err != nil {
		return err
	}
	for _, age := range ages {
		ofSource(ctx, source.Config.Name).Timer(CommitToTopicMetric).Record(age)
	}
	if source.Table == nil {
		return nil
	}
	return source.Table.MarkSent(ctx, []string{source.Config.Key(eventID)})
}

// ofSource is the metrics of a source.
func ofSource(ctx context.Context, source string) client.MetricsHandler {
	return activity.GetMetricsHandler(ctx).WithTags(map[string]string{SourceLabel: source})
}
