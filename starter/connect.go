package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"herald/internal/advice"
	"herald/internal/check"
	"herald/internal/config"
	"herald/internal/config/secret"
	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/explain"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay/kafka"
	"herald/outbox"
)

// startTemporal is the next step if Temporal does not answer.
const startTemporal = "start Temporal, or set TEMPORAL_ADDRESS to its address"

// dialTimeout limits the time to connect to Temporal, and each call of a client that connects at its first call.
const dialTimeout = 5 * time.Second

// outOfReach returns the error for a server that does not answer.
func outOfReach(what, next string, err error) error {
	return advice.With(fmt.Errorf("%s is out of reach: %w", what, err), next)
}

// misset returns the error for a wrong setting in the environment.
func misset(err error) error {
	return advice.With(err, `set it in the environment, or correct the file that it names; for the local stack: eval "$(make -s env)"`)
}

func (a *app) settings() (config.Starter, error) {
	cfg, err := config.StarterFrom(a.environment)
	if err != nil {
		return config.Starter{}, misset(err)
	}
	return cfg, nil
}

// store opens the database until the command ends. It fails if the database was set up with
// another HERALD_SECRET. If the database is out of reach, store succeeds and the first statement fails.
func (a *app) store(ctx context.Context) (*db.DB, config.Starter, error) {
	opened, cfg, err := a.open(ctx)
	if err != nil || cfg.Secret == "" {
		return opened, cfg, err
	}
	if changed, ok := errors.AsType[*db.SecretChangedError](opened.AgreeOnSecret(ctx)); ok {
		return nil, config.Starter{}, misset(changed)
	}
	return opened, cfg, nil
}

// open does the same as store for commands that need no tables: it does not compare the secret.
func (a *app) open(ctx context.Context) (*db.DB, config.Starter, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, config.Starter{}, err
	}
	db, err := db.Open(ctx, string(cfg.DatabaseURL), "herald-starter")
	if err != nil {
		return nil, config.Starter{}, misset(err)
	}
	a.closing = append(a.closing, db.Close)
	db.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	return db, cfg, nil
}

// temporalOptions returns the settings of a client of Temporal.
func (a *app) temporalOptions() (options client.Options, err error) {
	if options, err = config.Temporal(a.environment); err != nil {
		return options, misset(err)
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler)) // callers get the errors
	options.Identity, err = a.actor()
	return options, err
}

// temporal connects to Temporal until the command ends.
func (a *app) temporal(ctx context.Context) (client.Client, error) {
	options, err := a.temporalOptions()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, outOfReach("Temporal", startTemporal, err)
	}
	a.closing = append(a.closing, temporal.Close)
	return temporal, nil
}

// lazyTemporal returns a client until the command ends. It connects at the first call, and again after an outage.
func (a *app) lazyTemporal() (client.Client, error) {
	options, err := a.temporalOptions()
	if err != nil {
		return nil, err
	}
	options.RPCTimeout, options.ConnectionOptions.GetSystemInfoTimeout = dialTimeout, dialTimeout
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return nil, misset(err)
	}
	a.closing = append(a.closing, temporal.Close)
	return temporal, nil
}

// launcher connects to Temporal until the command ends.
func (a *app) launcher(ctx context.Context) (*launch.Launcher, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, err
	}
	temporal, err := a.temporal(ctx)
	if err != nil {
		return nil, err
	}
	return a.launcherOf(temporal, cfg), nil
}

func (a *app) launcherOf(temporal client.Client, cfg config.Starter) *launch.Launcher {
	return &launch.Launcher{Client: temporal, Namespace: a.namespace(), Prefix: cfg.TaskQueuePrefix, Sources: cfg.BySource()}
}

// explainer opens the database, and connects to Temporal if Temporal answers.
func (a *app) explainer(ctx context.Context) (e explain.Explainer, err error) {
	db, cfg, err := a.store(ctx)
	if err != nil {
		return e, err
	}
	e.DB, e.Texts = db, texts(cfg)
	e.Temporal, e.Unreachable = a.temporal(ctx)
	e.Namespace = a.namespace()
	return e, nil
}

// namespace returns the namespace that temporal connects to.
func (a *app) namespace() string {
	options, _ := config.Temporal(a.environment) // temporal returns the error
	return options.Namespace
}

// nextStep returns what an operator can do about an error; empty if nothing is known.
func nextStep(err error) string {
	var advised *advice.Error
	var statement *pgconn.PgError
	var schema *migrate.SchemaError
	var namespace *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &advised):
		return advised.Next
	case errors.As(err, new(*outbox.RefusedError)):
		return "correct the event, or choose another --event-id, and run it again"
	case errors.As(err, &schema):
		return schema.Remedy
	case errors.As(err, new(*notification.UnknownUserTypeError)):
		return "name one of these types, or add yours to the table user_type"
	case errors.As(err, new(*serviceerror.Unavailable)):
		return startTemporal
	case errors.As(err, &namespace):
		return "set TEMPORAL_NAMESPACE to a namespace of this Temporal"
	case errors.As(err, new(*serviceerror.DataLoss)): // package codec returns it for a missing key
		return "set HISTORY_KEYS as for the workers"
	case errors.As(err, new(*pgconn.ConnectError)):
		return db.ConnectRemedy(err)
	case errors.As(err, &statement) && slices.Contains([]string{undefinedTable, undefinedColumn}, statement.Code):
		return "run `starter migrate up`"
	case errors.As(err, &statement) && statement.Code == invalidText:
		return "write it in UTF-8"
	case errors.As(err, &statement) && statement.Code == queryCanceled:
		return "the database took too long: ask for less, for example with --since, and run it again"
	case errors.Is(err, context.Canceled):
		return "it was interrupted; run it again"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*serviceerror.DeadlineExceeded)):
		return "it took too long; see `starter status`, then run it again"
	default:
		return ""
	}
}

// PostgreSQL's codes for an unknown schema version, invalid text and a statement_timeout.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	undefinedTable  = "42P01"
	undefinedColumn = "42703"
	invalidText     = "22021"
	queryCanceled   = "57014"
)

// topicBrokers lists and creates Kafka topics.
type topicBrokers interface {
	check.Brokers
	operate.TopicCreator
}

// brokers returns Kafka's brokers until the command ends, or nil if KAFKA_BROKERS is not set. It
// connects at the first request.
func (a *app) brokers() (topicBrokers, error) {
	var settings kafka.Settings
	if err := config.SendersFrom(a.environment, settings.Read); err != nil {
		return nil, misset(err)
	}
	if !settings.On() {
		return nil, nil
	}
	producer, err := kafka.New(settings)
	if err != nil {
		return nil, misset(err)
	}
	a.closing = append(a.closing, func() { producer.Close(context.Background()) })
	return producer, nil
}
