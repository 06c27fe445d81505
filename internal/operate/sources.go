package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"herald/internal/advice"
	"herald/internal/db"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
)

// SourceState counts the waiting rows of an outbox, each count up to a limit.
type SourceState struct {
	Name          string   `json:"name"`
	Pending       *int     `json:"pending"`                // rows in the source's table; null: see Problem
	OldestSeconds *float64 `json:"oldest_pending_seconds"` // 0: nothing is pending; null: see Problem
	Failed        int      `json:"failed"`                 // rows that Herald gave up on, and events that cannot be started
	Resting       int      `json:"resting_topics"`         // topics that take no records
	Problem       string   `json:"problem,omitempty"`      // why the source's table is not counted
}

// ReadSources reads the outboxes concurrently. If the database of another service does not answer
// within patience, only the counts of that outbox are missing.
func ReadSources(ctx context.Context, store *db.DB, sources []relay.Source, patience time.Duration) ([]SourceState, error) {
	states := make([]SourceState, len(sources))
	var group errgroup.Group
	for i, config := range sources {
		group.Go(func() (err error) {
			states[i], err = readSource(ctx, store, config, patience)
			return err
		})
	}
	return states, group.Wait()
}

func readSource(ctx context.Context, store *db.DB, config relay.Source, patience time.Duration) (state SourceState, err error) {
	state.Name = config.Name
	if state.Failed, state.Resting, err = relay.On(store).SourceState(ctx, config.Name); err != nil {
		return state, err
	}
	if config.IsHerald() {
		outbox, err := event.On(store).OutboxState(ctx)
		state.Failed += outbox.Failed
		state.counted(outbox)
		return state, err
	}
	failed, err := relay.On(store).FailedKeys(ctx, config.Name)
	if err != nil {
		return state, err
	}
	switch outbox, err := readTable(ctx, config, failed, patience); {
	case errors.Is(err, context.DeadlineExceeded):
		state.Problem = fmt.Sprintf("its database did not answer within %s", patience)
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

// readTable counts the rows of another service's table. Some tables cannot mark failed rows.
func readTable(ctx context.Context, config relay.Source, failed []string, patience time.Duration) (notification.OutboxState, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	table, err := dialects.Open(ctx, config)
	if err != nil {
		return notification.OutboxState{}, err
	}
	defer table.Close()
	return table.State(ctx, failed)
}

// TopicCreator creates Kafka topics that do not exist.
type TopicCreator interface {
	MissingTopics(ctx context.Context, topics []string) (map[string]string, error)
	CreateTopic(ctx context.Context, name string) error
}

// CreateTopic creates the topic of a source if the brokers do not have it, and returns its name;
// empty: it created nothing.
func (o *Operator) CreateTopic(ctx context.Context, brokers TopicCreator, source relay.Source) (created string, err error) {
	if source.Kafka == nil {
		return "", nil
	}
	topic, fixed := source.Kafka.FixedTopic()
	if !fixed {
		return "", advice.With(fmt.Errorf("the topic %s of source %s depends on the row", topic, source.Name),
			"create the topics of its rows with Kafka's tools")
	}
	missing, err := brokers.MissingTopics(ctx, []string{topic})
	if err != nil || missing[topic] == "" {
		return "", err
	}
	if err := o.Record(ctx, fmt.Sprintf("source %s: topic %s", source.Name, topic), topic); err != nil {
		return "", err
	}
	if err := brokers.CreateTopic(ctx, topic); err != nil {
		return "", advice.With(err, "grant Herald the right to create it, or create it with Kafka's tools")
	}
	return topic, nil
}

// MigrateSource creates the indexes and triggers that the dialect needs and that the table lacks, and
// returns them. It calls begun before each: an index on a large table takes long. It changes nothing
// else in the table.
func (o *Operator) MigrateSource(ctx context.Context, config relay.Source, begun func(dialects.Addition)) ([]dialects.Addition, error) {
	table, err := dialects.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	missing, err := table.Additions(ctx)
	if err != nil || len(missing) == 0 {
		return nil, ofSource(err, seeCheck(config))
	}
	var names, statements []string
	for _, addition := range missing {
		names, statements = append(names, addition.Name), append(statements, addition.Statement)
	}
	if err := o.Record(ctx, fmt.Sprintf("source %s: %s", config.Name, strings.Join(names, ", ")), config.Table); err != nil {
		return nil, err
	}
	if err := table.Add(ctx, missing, begun); err != nil {
		return nil, ofSource(err, "have the table's owner run: "+strings.Join(statements, "; "))
	}
	return missing, nil
}

// ofSource adds advice to an error of a source's database. refused is the advice if the database
// refuses a statement.
func ofSource(err error, refused string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, dialects.ErrMigrating):
		return advice.With(err, "wait until it is done, and run it again")
	case errors.As(err, new(*pgconn.ConnectError)):
		return advice.With(err, "start the database, or set the variable of its URL (`database_url_env:`, else DATABASE_URL) to its address")
	case errors.As(err, new(*pgconn.PgError)):
		return advice.With(err, refused)
	default:
		return err
	}
}

func seeCheck(source relay.Source) string {
	return fmt.Sprintf("see `starter source check %s`", source.Name)
}

// RetriedRows is the result of a retry of a source's failed rows.
type RetriedRows struct {
	Source  string   `json:"source"`
	Matched int      `json:"matched"` // rows that have failed
	Retried int      `json:"retried"`
	Skipped []string `json:"skipped"` // named keys whose rows have not failed
}

// retryPage is the number of rows that one step retries.
const retryPage = 500

// RetrySource retries the failed rows of a source: the rows with the keys, or all if there are no
// keys. It first marks the rows as pending in their table, and then deletes Herald's record of
// them. If it is interrupted between the two steps, the source's relay still retries the rows.
func (o *Operator) RetrySource(ctx context.Context, source relay.Source, keys []string, dryRun bool) (RetriedRows, error) {
	result := RetriedRows{Source: source.Name, Skipped: slices.Clone(keys)}
	table, err := dialects.Open(ctx, source)
	if err != nil {
		return result, err
	}
	defer table.Close()
	for after := ""; ; {
		failed, err := relay.On(o.DB).FailedRows(ctx, source.Name, keys, after, retryPage)
		if err != nil || len(failed) == 0 {
			return result, err
		}
		result.Matched += len(failed)
		result.Skipped = slices.DeleteFunc(result.Skipped, func(key string) bool { return slices.Contains(failed, key) })
		after = failed[len(failed)-1]
		if dryRun {
			continue
		}
		if err := o.retryRows(ctx, source, table, failed); err != nil {
			return result, ofSource(err, seeCheck(source))
		}
		result.Retried += len(failed)
	}
}

func (o *Operator) retryRows(ctx context.Context, source relay.Source, table *dialects.Table, keys []string) error {
	targets := make([]string, len(keys))
	for i, key := range keys {
		targets[i] = source.EventID(key)
	}
	if err := o.Record(ctx, "source "+source.Name, targets...); err != nil {
		return err
	}
	if err := table.Reopen(ctx, keys); err != nil {
		return err
	}
	return relay.On(o.DB).ForgetRows(ctx, source.Name, keys)
}
