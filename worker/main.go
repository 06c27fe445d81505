// Command worker runs Herald's workflows and activities until it is told to stop.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
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

// part is the part of the work that a process does.
type part struct {
	events   bool // pollers and events
	channels []notification.Channel
}

func parseFlags(args []string) (part, error) {
	p := part{events: true, channels: notification.Channels()}
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	events := flags.Bool("events", false, "serve the outbox pollers and the events")
	flags.Func("channels", "serve the deliveries of these `channels`: "+channelNames(), func(list string) error {
		p.channels = nil
		for name := range strings.SplitSeq(list, ",") {
			channel := notification.Channel(strings.ToUpper(strings.TrimSpace(name)))
			if !channel.Valid() {
				return fmt.Errorf("no channel %q; there are %s", name, channelNames())
			}
			if !slices.Contains(p.channels, channel) {
				p.channels = append(p.channels, channel)
			}
		}
		p.events = false
		return nil
	})
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "worker runs Herald's workflows and activities. Without flags it serves everything; its settings come from the environment (see README.md).\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return part{}, err
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(flags.Output(), "worker takes no arguments, but got %q\n", flags.Args())
		return part{}, flag.ErrHelp
	}
	onlyEvents := *events && p.events // no --channels
	p.events = p.events || *events
	if onlyEvents {
		p.channels = nil
	}
	return p, nil
}

func channelNames() string {
	var names []string
	for _, channel := range notification.Channels() {
		names = append(names, strings.ToLower(string(channel)))
	}
	return strings.Join(names, ",")
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
	metrics, err := newMetrics(watched{
		outbox: events.OutboxState,
		broker: broker.Ready,
		queues: broker.Depths,
	})
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
	acts := newActivities(cfg, events, deliveries, launcher, broker, senders)
	running := &workers{}
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
	group.Go(func() error { return running.run(ctx, temporal, options.Namespace, cfg, part, acts) })
	return group.Wait()
}

func newActivities(cfg config.Config, events, deliveries *postgres.Store, launcher *launch.Launcher, broker *rabbitmq.Broker, senders map[notification.Channel]activities.Sender) *activities.Activities {
	return &activities.Activities{
		Outbox:     events,
		Launcher:   launcher,
		Plans:      events,
		Deliveries: deliveries,
		Digests:    deliveries,
		Joiner:     launcher,
		Retries:    deliveries,
		Events:     events,
		Sweeps:     events,
		Sweeper:    launcher,
		Executions: launcher,
		Broker:     broker,
		EventTexts: func(event notification.Event, rows []notification.Template) activities.EventTexts {
			return template.NewSet(event, rows)
		},
		DigestText: template.Digest,
		Senders:    senders,
		Policies:   deliveryPolicies(cfg),
		Poll:       activities.PollSettings{Interval: cfg.OutboxPollInterval, BatchSize: cfg.OutboxBatchSize},
	}
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
