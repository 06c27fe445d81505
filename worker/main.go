// Command worker runs Herald's workflows and activities until it is told to stop.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	_ "time/tzdata" // quiet hours are judged alike on every machine

	"github.com/caarlos0/env/v11"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/config/environment"
	"herald/internal/config/secret"
	"herald/internal/config/version"
	"herald/internal/health"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/outboxes/kafka"
	"herald/internal/postgres"
	"herald/internal/rabbitmq"
	"herald/internal/template"
	"herald/internal/wiring"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	part, err := parseFlags(os.Args[1:])
	if err != nil {
		os.Exit(2) // the flag package has said why
	}
	build := version.Read()
	if part.version {
		fmt.Println("worker", build)
		return
	}
	slog.Info("worker starts", "version", build.Version, "commit", build.Commit, "go", build.Go)
	if err := run(ctx, part); err != nil {
		slog.Error("worker failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, part part) error {
	wired := wiring.New()
	cfg, brokers, options, err := readSettings(wired)
	if err != nil {
		return err
	}
	events, deliveries, err := postgres.OpenTwo(ctx, string(cfg.DatabaseURL), "herald-events", "herald-deliveries")
	if err != nil {
		return err
	}
	defer events.Close()
	defer deliveries.Close()
	for _, db := range []*postgres.Store{events, deliveries} {
		db.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	}
	broker, err := connectBroker(ctx, cfg)
	if err != nil {
		return err
	}
	defer broker.Close()
	topics, err := connectTopics(brokers, cfg.Sources, part)
	if err != nil {
		return err
	}
	defer closeTopics(topics)
	launcher := &launch.Launcher{Namespace: options.Namespace, Prefix: cfg.TaskQueuePrefix, PublishEvents: cfg.PublishEvents, Sources: cfg.BySource()}
	wiring := sourcesWiring{cfg: cfg, events: events, topics: topics}
	defer wiring.close()
	sources, err := wiring.sources(ctx)
	if err != nil {
		return err
	}
	watch := watched{sources: sources, broker: broker.Ready, queues: broker.Depths, followUps: events.FollowUpState}
	if topics != nil {
		watch.topics = topics.Ready
	}
	metrics, err := newMetrics(watch)
	if err != nil {
		return err
	}
	temporal, err := newTemporalClient(options, metrics.temporal)
	if err != nil {
		return err
	}
	defer temporal.Close()
	launcher.Client = temporal // its metrics include the sources' metrics
	acts := newActivities(cfg, events, deliveries, broker, launcher)
	acts.Sources = polled(sources)
	acts.Cleaners = newCleaners(cfg, events)
	if acts.Senders, acts.Off, err = newSenders(wired, cfg, broker, part.channels); err != nil {
		return err
	}
	running := &workers{temporal: temporal, namespace: options.Namespace, operator: newOperator(events, launcher), cfg: cfg, part: part, activities: acts}
	activities.ZeroMetrics(metrics.temporal, part.channels, slices.Collect(maps.Keys(sources)))
	group, ctx := errgroup.WithContext(ctx)
	page := health.Handler(checks(events, broker, topics, temporal, running), metrics.page)
	group.Go(func() error { return health.Serve(ctx, cfg.WorkerHTTPAddr, page) })
	group.Go(func() error {
		if err := awaitDatabase(ctx, events); err != nil || ctx.Err() != nil {
			return err
		}
		group.Go(func() error {
			declareQueues(ctx, events, broker)
			return nil
		})
		group.Go(func() error {
			warnOfMistakes(ctx, events, wired, part, cfg.Sources)
			return nil
		})
		return running.run(ctx)
	})
	if part.events { // an installation that was upgraded may have none of these yet
		group.Go(func() error {
			retry(ctx, "the sweep is not scheduled yet", maxScheduleRetry, launcher.ScheduleSweep)
			return nil
		})
		group.Go(func() error {
			keep(ctx, "what follows receipts is not done yet", launcher.StartFollowUp)
			return nil
		})
		group.Go(func() error {
			retry(ctx, "the cleaning of outboxes is not scheduled yet", maxScheduleRetry, func(ctx context.Context) error {
				return launcher.ScheduleCleaning(ctx, retentions(cfg))
			})
			return nil
		})
	}
	return group.Wait()
}

// newActivities connects the activities to all that they need but sources and senders.
func newActivities(cfg config.Config, events, deliveries *postgres.Store, broker *rabbitmq.Broker, launcher *launch.Launcher) *activities.Activities {
	return &activities.Activities{
		Launcher:    launcher,
		Plans:       events,
		Attempts:    deliveries,
		Lanes:       events,
		Deliveries:  deliveries,
		Batches:     deliveries,
		Failures:    deliveries,
		Digests:     deliveries,
		Joiner:      launcher,
		Cancels:     events,
		Canceller:   launcher,
		Retries:     deliveries,
		Followers:   events,
		Events:      events,
		Messages:    broker,
		Sweeps:      events,
		Sweeper:     launcher,
		Executions:  launcher,
		DeadLetters: broker,
		FollowUps:   events,
		Escalations: launcher,
		EventTexts: func(event notification.Event, rows []notification.Template) activities.EventTexts {
			return template.NewSet(event, rows)
		},
		EscalatedTexts: func(event notification.Event, rows []notification.Template) activities.EventTexts {
			return template.NewEscalatedSet(event, rows)
		},
		DigestText:    template.Digest,
		Policies:      deliveryPolicies(cfg),
		RateLimits:    rateLimits(cfg),
		Turns:         deliveries,
		BulkThreshold: cfg.BulkThreshold,
	}
}

// readSettings reads all settings, including the settings of channels, Kafka and Temporal.
func readSettings(channels wiring.Wiring) (cfg config.Config, topics kafka.Settings, options client.Options, err error) {
	if err = channels.Complete(); err != nil {
		return cfg, topics, options, err
	}
	values := env.ToMap(os.Environ())
	cfg, err = config.From(values, func(r *environment.Reader) {
		channels.Read(r)
		topics.Read(r)
	})
	if err == nil {
		options, err = config.Temporal(values)
	}
	return cfg, topics, options, err
}

func connectBroker(ctx context.Context, cfg config.Config) (*rabbitmq.Broker, error) {
	return rabbitmq.Connect(ctx, rabbitmq.Config{
		URL:    string(cfg.RabbitMQURL),
		Logger: slog.Default(),
		Bounds: rabbitmq.Bounds{Length: cfg.QueueLength, TTL: cfg.QueueTTL},
	})
}

// newTemporalClient returns a client that connects when it is first used.
func newTemporalClient(options client.Options, metrics client.MetricsHandler) (client.Client, error) {
	options.Logger = log.NewStructuredLogger(slog.Default())
	options.MetricsHandler = metrics
	options.WorkerHeartbeatInterval = launch.WorkerHeartbeat
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("create Temporal client: %w", err)
	}
	return temporal, nil
}

func checks(store *postgres.Store, broker *rabbitmq.Broker, topics *kafka.Producer, temporal client.Client, running *workers) []health.Need {
	needs := []health.Need{
		{Name: "database", Down: "does not answer, or has no schema of Herald's", Run: store.Ready},
		{Name: "broker", Down: "takes no messages", Run: func(context.Context) error { return broker.Ready() }},
		{Name: "temporal", Down: "does not answer", Run: func(ctx context.Context) error {
			_, err := temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		}},
		{Name: "workers", Down: "not started", Run: running.ready},
	}
	if topics != nil {
		needs = append(needs, health.Need{Name: "kafka", Down: "does not answer", Run: topics.Ready})
	}
	return needs
}
