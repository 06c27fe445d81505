package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// SourceState counts the waiting rows of an outbox, each count up to a limit.
type SourceState struct {
	Name          string   `json:"name"`
	Pending       *int     `json:"pending"`                // rows in the source's table; null: see Problem
	OldestSeconds *float64 `json:"oldest_pending_seconds"` // 0: nothing is pending; null: see Problem
	Failed        int      `json:"failed"`                 // rows that Herald gave up, and events that cannot be started
	Resting       int      `json:"resting_topics"`         // topics that take no records
	Problem       string   `json:"problem,omitempty"`      // why the source's table is not counted
}

// sourceTimeout bounds the count of one table of another service.
const sourceTimeout = 5 * time.Second

// ReadSources reads the outboxes concurrently. If the database of another service does not answer,
// only the counts of that outbox are missing.
func ReadSources(ctx context.Context, store *postgres.Store, sources []outboxes.Source) ([]SourceState, error) {
	states := make([]SourceState, len(sources))
	var group errgroup.Group
	for i, config := range sources {
		group.Go(func() (err error) {
			states[i], err = readSource(ctx, store, config)
			return err
		})
	}
	return states, group.Wait()
}

func readSource(ctx context.Context, store *postgres.Store, config outboxes.Source) (state SourceState, err error) {
	state.Name = config.Name
	if state.Failed, state.Resting, err = store.SourceState(ctx, config.Name); err != nil {
		return state, err
	}
	if config.IsHerald() {
		outbox, err := store.OutboxState(ctx)
		state.Failed += outbox.Failed
		state.counted(outbox)
		return state, err
	}
	switch outbox, err := readTable(ctx, config); {
	case errors.Is(err, context.DeadlineExceeded):
		state.Problem = fmt.Sprintf("its database did not answer within %s", sourceTimeout)
	case err != nil:
		state.Problem = err.Error()
	default:
		state.counted(outbox)
	}
	return state, nil
}

func (s *SourceState) counted(outbox notification.OutboxState) {
	oldest := outbox.OldestPending.Seconds()
	s.Pending, s.OldestSeconds = &outbox.Pending, &oldest
}

// readTable counts the rows of another service's table.
func readTable(ctx context.Context, config outboxes.Source) (notification.OutboxState, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	table, err := dialects.Open(ctx, config)
	if err != nil {
		return notification.OutboxState{}, err
	}
	defer table.Close()
	return table.State(ctx)
}

// TopicCreator creates Kafka topics that do not exist.
type TopicCreator interface {
	MissingTopics(ctx context.Context, topics []string) (map[string]string, error)
	CreateTopic(ctx context.Context, name string) error
}

// CreateTopic creates the topic of a source if the brokers do not have it, and returns its name;
// empty: it created nothing.
func (o *Operator) CreateTopic(ctx context.Context, brokers TopicCreator, source outboxes.Source) (created string, err error) {
	if source.Kafka == nil {
		return "", nil
	}
	topic, fixed := source.Kafka.FixedTopic()
	if !fixed {
		return "", advice.With(fmt.Errorf("the topic %s of source %s depends on the row", topic, source.Name), "create the topics that its rows lead to by Kafka's own tools")
	}
	missing, err := brokers.MissingTopics(ctx, []string{topic})
	if err != nil || missing[topic] == "" {
		return "", err
	}
	if err := o.Record(ctx, fmt.Sprintf("source %s: topic %s", source.Name, topic), topic); err != nil {
		return "", err
	}
	if err := brokers.CreateTopic(ctx, topic); err != nil {
		return "", advice.With(err, "grant Herald the right to create it, or create it by Kafka's own tools")
	}
	return topic, nil
}
