// Command worker runs Herald's workflows and activities until SIGINT or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/caarlos0/env/v11"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/config"
	"herald/internal/config/environment"
	"herald/internal/config/secret"
	"herald/internal/config/version"
	"herald/internal/db"
	"herald/internal/escalation"
	"herald/internal/event"
	"herald/internal/health"
	"herald/internal/launch"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/purge"
	"herald/internal/rabbitmq"
	"herald/internal/relay/endpoint"
	"herald/internal/relay/kafka"
	"herald/internal/template"
	"herald/internal/tracing"
	"herald/internal/wiring"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	part, err := parseFlags(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
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

// process holds the connections that the parts of a worker process share.
type process struct {
	part               part
	wired              wiring.Wiring
	cfg                config.Config
	events, deliveries *db.DB
	broker             *rabbitmq.Broker
	circuits           *limit.Circuits
	senders            map[notification.Channel]activities.Sender
	off                map[notification.Channel]error // the reason why a channel has no sender
	topics             *kafka.Producer                // nil if no source has a topic
	launcher           *launch.Launcher
	temporal           client.Client
	traces             *tracing.Traces
	running            *workers
	draining           draining
	losses             losses
}

func run(ctx context.Context, part part) (err error) {
	p := &process{part: part, wired: wiring.New()}
	cfg, destinations, options, err := readSettings(p.wired)
	if err != nil {
		return err
	}
	p.cfg = cfg
	if p.events, p.deliveries, err = db.OpenTwo(ctx, string(cfg.DatabaseURL), "herald-events", "herald-deliveries"); err != nil {
		return err
	}
	defer p.events.Close()
	defer p.deliveries.Close()
	for _, db := range []*db.DB{p.events, p.deliveries} {
		db.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	}
	if p.broker, err = connectBroker(ctx, cfg); err != nil {
		return err
	}
	defer p.broker.Close()
	if p.topics, err = connectTopics(destinations.kafka, cfg.Sources, part); err != nil {
		return err
	}
	defer closeTopics(p.topics)
	hook, err := endpoint.New(destinations.hook)
	if err != nil {
		return err
	}
	wiring := sourcesWiring{cfg: cfg, events: p.events, topics: p.topics, hook: hook}
	defer wiring.close()
	sources, err := wiring.sources(ctx)
	if err != nil {
		return err
	}
	p.circuits = limit.NewCircuits(limit.On(p.deliveries))
	if p.senders, p.off, err = newSenders(p.wired, cfg, p.broker, p.circuits, limit.On(p.deliveries), part.channels); err != nil {
		return err
	}
	metrics, err := newMetrics(p.watched(sources))
	if err != nil {
		return err
	}
	if p.traces, err = tracing.Start(ctx, destinations.traces, "herald-worker", version.Read().Version); err != nil {
		return err
	}
	defer p.traces.Close()
	if p.temporal, err = newTemporalClient(options, metrics.temporal, p.traces); err != nil {
		return err
	}
	defer p.temporal.Close()
	p.launcher = &launch.Launcher{
		Client: p.temporal, Namespace: options.Namespace, Prefix: cfg.TaskQueuePrefix, PublishEvents: cfg.PublishEvents, Sources: cfg.BySource(),
	}
	p.losses.operator = newOperator(p.events, p.launcher, "restore")
	acts := p.activities(sources)
	p.running = &workers{
		temporal: p.temporal, namespace: options.Namespace, operator: newOperator(p.events, p.launcher, "workers promote"),
		cfg: cfg, part: part, activities: acts,
	}
	activities.ZeroMetrics(metrics.temporal, part.channels, slices.Collect(maps.Keys(sources)))
	return p.work(ctx, health.Handler(p.needs(), metrics.page))
}

// work runs the workers and the page of metrics until ctx ends.
func (p *process) work(ctx context.Context, page http.Handler) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, p.cfg.WorkerHTTPAddr, page) })
	group.Go(func() error { return p.serve(ctx, group) })
	background(group, func() { p.draining.keep(ctx, p.launcher) })
	if p.part.events {
		p.schedule(ctx, group)
	}
	return group.Wait()
}

// serve waits for the database, and then runs the workers until ctx ends.
func (p *process) serve(ctx context.Context, group *errgroup.Group) error {
	if err := awaitDatabase(ctx, p.events); err != nil || ctx.Err() != nil {
		return err
	}
	background(group, func() { declareQueues(ctx, p.events, p.broker) })
	background(group, func() { p.warnOfMistakes(ctx) })
	background(group, func() { p.circuits.Run(ctx) })
	return p.running.run(ctx)
}

// schedule starts the permanent workflows: an upgraded installation may not have them yet, and Temporal
// may lose them.
func (p *process) schedule(ctx context.Context, group *errgroup.Group) {
	unlessLost := func(start func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := p.losses.none(ctx); err != nil {
				return err
			}
			return start(ctx)
		}
	}
	background(group, func() { p.losses.keep(ctx, p.cfg.Restore) })
	background(group, func() { keep(ctx, "the sweep is not scheduled yet", unlessLost(p.launcher.ScheduleSweep)) })
	background(group, func() { keep(ctx, "the follow-ups of deliveries do not run yet", unlessLost(p.launcher.StartFollowUp)) })
	cleaning := p.launcher.Cleaning(retentions(p.cfg))
	background(group, func() { keep(ctx, "the cleaning is not scheduled yet", unlessLost(cleaning)) })
}

// background runs work that cannot fail. The process waits for its end.
func background(group *errgroup.Group, work func()) {
	group.Go(func() error {
		work()
		return nil
	})
}

func (p *process) watched(sources map[string]wiredSource) watched {
	w := watched{
		sources: sources, broker: p.broker.Ready, queues: p.broker.Depths, followUps: escalation.On(p.events).FollowUpState, senders: p.senders,
		circuits: p.circuits,
	}
	w.draining, w.lost, w.sweep = p.draining.read, p.losses.count, event.On(p.events).LastSweep
	if p.topics != nil {
		w.topics = p.topics.Ready
	}
	return w
}

// activities returns the activities with all their dependencies.
func (p *process) activities(sources map[string]wiredSource) *activities.Activities {
	return &activities.Activities{
		Sources:       polled(sources),
		Cleaners:      newCleaners(p.cfg, p.events),
		Senders:       traced(p.senders, p.traces),
		Off:           p.off,
		Launcher:      p.launcher,
		Planner:       planner.New(planner.On(p.events), p.texts()),
		Attempts:      attempt.On(p.deliveries),
		Lanes:         attempt.On(p.events),
		Deliveries:    attempt.On(p.deliveries),
		Batches:       attempt.On(p.deliveries),
		Failures:      attempt.On(p.deliveries),
		Digests:       attempt.On(p.deliveries),
		Joiner:        p.launcher,
		Cancels:       event.On(p.events),
		Canceller:     p.launcher,
		Retries:       attempt.On(p.deliveries),
		Followers:     escalation.On(p.events),
		Events:        event.On(p.events),
		Messages:      tracing.Publisher{Publisher: p.broker},
		Sweeps:        event.On(p.events),
		Expired:       purge.On(p.events),
		Reputation:    limit.On(p.events),
		Sweeper:       p.launcher,
		Executions:    p.launcher,
		DeadLetters:   p.broker,
		FollowUps:     escalation.On(p.events),
		Escalations:   p.launcher,
		DigestText:    p.texts().Digest,
		Policies:      deliveryPolicies(p.cfg),
		Pace:          &limit.Pace{Tokens: limit.On(p.deliveries), Rates: rateLimits(p.cfg)},
		Circuits:      p.circuits,
		BulkThreshold: p.cfg.BulkThreshold,
	}
}

func (p *process) texts() template.Engine {
	texts := template.Engine{LinkSchemes: p.cfg.LinkSchemes}
	if p.cfg.PublicURL != "" {
		texts.PreferencesURL, texts.MuteURL = links(p.cfg).Preferences, links(p.cfg).Mute
		texts.UnsubscribeURL = func(over notification.Channel, m notification.Message) string { return unsubscribeURL(p.cfg, over)(m) }
	}
	return texts
}

// destinations holds the settings of Kafka, of the webhook for lifecycle events, and of the
// collector of spans.
type destinations struct {
	kafka  kafka.Settings
	hook   endpoint.Settings
	traces tracing.Settings
}

// readSettings reads all settings, with the settings of channels, destinations and Temporal.
func readSettings(channels wiring.Wiring) (cfg config.Config, to destinations, options client.Options, err error) {
	if err = channels.Complete(); err != nil {
		return cfg, to, options, err
	}
	values := env.ToMap(os.Environ())
	cfg, err = config.From(values, func(r *environment.Reader) {
		channels.Read(r)
		to.kafka.Read(r)
		to.hook.Read(r)
		to.traces.Read(r)
	})
	if err == nil {
		options, err = config.Temporal(values)
	}
	return cfg, to, options, err
}

func connectBroker(ctx context.Context, cfg config.Config) (*rabbitmq.Broker, error) {
	return rabbitmq.Connect(ctx, rabbitmq.Config{
		URL:    string(cfg.RabbitMQURL),
		Logger: slog.Default(),
		Bounds: rabbitmq.Bounds{Length: cfg.QueueLength, TTL: cfg.QueueTTL},
	})
}

// newTemporalClient returns a client that connects when it is first used.
func newTemporalClient(options client.Options, metrics client.MetricsHandler, traces *tracing.Traces) (temporal client.Client, err error) {
	options.Logger = log.NewStructuredLogger(slog.Default())
	options.MetricsHandler = metrics
	options.WorkerHeartbeatInterval = launch.WorkerHeartbeat
	if options.Interceptors, err = traces.Interceptors(); err != nil {
		return nil, fmt.Errorf("trace Temporal: %w", err)
	}
	if temporal, err = client.NewLazyClient(options); err != nil {
		return nil, fmt.Errorf("create Temporal client: %w", err)
	}
	return temporal, nil
}

func (p *process) needs() []health.Need {
	needs := []health.Need{
		{Name: "database", Down: "does not answer, is read-only or a former primary, or has no schema of Herald's", Run: p.events.Ready},
		{Name: "broker", Down: "takes no messages", Run: func(context.Context) error { return p.broker.Ready() }},
		{Name: "temporal", Down: "does not answer", Run: func(ctx context.Context) error {
			_, err := p.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		}},
		{Name: "workers", Down: "not started", Run: p.running.ready},
		{Name: "pollers", Down: "lost by Temporal: run `starter restore`", Run: p.losses.known},
	}
	if p.topics != nil {
		needs = append(needs, health.Need{Name: "kafka", Down: "does not answer", Run: p.topics.Ready})
	}
	return needs
}
