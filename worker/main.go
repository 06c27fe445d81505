// Command worker runs Herald's workflows and activities until it is told to stop.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // quiet hours are judged alike on every machine

	"github.com/caarlos0/env/v11"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/rabbitmq"
	"herald/internal/template"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	part, err := parseFlags(os.Args[1:])
	if err != nil {
		os.Exit(2) // the flag package has said why
	}
	if err := run(ctx, part); err != nil {
		slog.Error("worker failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, part part) error {
	wiring := newWiring()
	if err := wiring.check(); err != nil {
		return err
	}
	cfg, err := config.FromEnv(wiring.read)
	if err != nil {
		return err
	}
	events, deliveries, err := postgres.OpenTwo(ctx, string(cfg.DatabaseURL), "herald-events", "herald-deliveries")
	if err != nil {
		return err
	}
	defer events.Close()
	defer deliveries.Close()
	options, err := config.Temporal(env.ToMap(os.Environ()))
	if err != nil {
		return err
	}
	broker, err := connectBroker(ctx, cfg, options.Namespace)
	if err != nil {
		return err
	}
	defer broker.Close()
	sources := newSources(cfg, events, broker)
	metrics, err := newMetrics(watched{sources: sources, broker: broker.Ready, queues: broker.Depths})
	if err != nil {
		return err
	}
	activities.ZeroMetrics(metrics.temporal, part.channels)
	temporal, err := newTemporalClient(options, metrics.temporal)
	if err != nil {
		return err
	}
	defer temporal.Close()
	senders, err := wiring.senders(cfg, broker, part.channels)
	if err != nil {
		return err
	}
	launcher := &launch.Launcher{Client: temporal, Prefix: cfg.TaskQueuePrefix, PublishEvents: cfg.PublishEvents}
	running := &workers{
		temporal: temporal, namespace: options.Namespace, cfg: cfg, part: part,
		activities: &activities.Activities{
			Sources:     polled(sources),
			Launcher:    launcher,
			Plans:       events,
			Deliveries:  deliveries,
			Digests:     deliveries,
			Joiner:      launcher,
			Retries:     deliveries,
			Events:      events,
			Sweeps:      events,
			Sweeper:     launcher,
			Executions:  launcher,
			DeadLetters: broker,
			EventTexts:  eventTexts,
			DigestText:  template.Digest,
			Senders:     senders,
			Policies:    deliveryPolicies(cfg),
		},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serve(ctx, cfg.WorkerHTTPAddr, healthHandler(checks(events, broker, temporal, running), metrics.page))
	})
	if part.events {
		group.Go(func() error {
			scheduleSweep(ctx, launcher)
			return nil
		})
	}
	group.Go(func() error { return running.run(ctx) })
	return group.Wait()
}

func eventTexts(event notification.Event, rows []notification.Template) activities.EventTexts {
	return template.NewSet(event, rows)
}

func connectBroker(ctx context.Context, cfg config.Config, namespace string) (*rabbitmq.Broker, error) {
	return rabbitmq.Connect(ctx, rabbitmq.Config{
		URL:          string(cfg.RabbitMQURL),
		Logger:       slog.Default(),
		Bounds:       rabbitmq.Bounds{Length: cfg.QueueLength, TTL: cfg.QueueTTL},
		Installation: cfg.Installation(namespace),
	})
}

// newTemporalClient returns a client that connects when it is first used.
func newTemporalClient(options client.Options, metrics client.MetricsHandler) (client.Client, error) {
	options.Logger = log.NewStructuredLogger(slog.Default())
	options.MetricsHandler = metrics
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("create Temporal client: %w", err)
	}
	return temporal, nil
}

// checks are what /readyz asks.
func checks(store *postgres.Store, broker *rabbitmq.Broker, temporal client.Client, running *workers) []check {
	return []check{
		{"database", "does not answer, or has no schema of Herald's", store.Ready},
		{"broker", "takes no messages", func(context.Context) error { return broker.Ready() }},
		{"temporal", "does not answer", func(ctx context.Context) error {
			_, err := temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		}},
		{"workers", "not started", running.ready},
	}
}
