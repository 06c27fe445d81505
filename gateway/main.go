// Command gateway serves browsers: live notifications, the inbox, preferences and a page. It also
// receives the providers' receipts for messages. It runs until SIGINT or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/caarlos0/env/v11"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"

	"herald/internal/config"
	"herald/internal/config/environment"
	"herald/internal/config/secret"
	"herald/internal/config/version"
	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/health"
	"herald/internal/inbox"
	"herald/internal/ingest"
	"herald/internal/person"
	"herald/internal/preference"
	"herald/internal/rabbitmq"
	"herald/internal/receipts"
	"herald/internal/template"
	"herald/internal/tracing"
	"herald/internal/web/link"
	"herald/internal/web/live"
	"herald/internal/web/signin"
	"herald/internal/wiring"
	"herald/migrations"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	showVersion, err := parseFlags(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	build := version.Read()
	if showVersion {
		fmt.Println("gateway", build)
		return
	}
	slog.Info("gateway starts", "version", build.Version, "commit", build.Commit, "go", build.Go)
	if err := run(ctx); err != nil {
		slog.Error("gateway failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg, err := readSettings(os.Environ())
	if err != nil {
		return err
	}
	// Webhooks and links have a quarter as many connections, so that signed-in people cannot
	// keep out a receipt or a STOP.
	people, hooks, err := db.OpenBoth(ctx, string(cfg.DatabaseURL), "herald-gateway", "herald-webhooks", 1, 4, false)
	if err != nil {
		return err
	}
	defer people.Close()
	defer hooks.Close()
	for _, store := range []*db.DB{people, hooks} {
		store.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	}
	metrics, err := newMetrics()
	if err != nil {
		return err
	}
	traces, err := tracing.Start(ctx, cfg.traces, "herald-gateway", version.Read().Version)
	if err != nil {
		return err
	}
	defer traces.Close()
	served, err := newRooms(cfg, people, hooks, metrics, traces)
	if err != nil {
		return err
	}
	broker, err := rabbitmq.Consume(ctx,
		rabbitmq.ConsumerConfig{URL: string(cfg.RabbitMQURL), Logger: slog.Default(), Deliver: served.hub.Deliver, Missed: served.hub.Missed})
	if err != nil {
		return err
	}
	defer broker.Close()
	if err := metrics.watchBroker(broker.Ready); err != nil {
		return err
	}
	public := newPublic(cfg.Gateway, served.handler(), served.hub.Drain, metrics)
	group, ctx := errgroup.WithContext(ctx)
	admin, endAdmin := context.WithCancel(context.WithoutCancel(ctx)) // the admin port stays up until the drain ends
	group.Go(func() error {
		return health.Serve(admin, cfg.AdminAddr, health.Handler(needs(people, served.gate.Verifier, public), metrics.page))
	})
	group.Go(func() error {
		served.gate.Verifier.Run(ctx)
		return nil
	})
	group.Go(func() error {
		defer endAdmin()
		if err := awaitDatabase(ctx, people); err != nil || ctx.Err() != nil {
			return err
		}
		return public.serve(ctx)
	})
	return group.Wait()
}

// newRooms returns the services of the public port.
func newRooms(cfg settings, db, hooksDB *db.DB, metrics *metrics, traces *tracing.Traces) (served rooms, err error) {
	gate := newGate(cfg, db, metrics)
	hub, err := newHub(cfg.Gateway, db, metrics.meter)
	if err != nil {
		return served, err
	}
	hooks, err := receipts.New(receipts.Config{
		Recorder: tracing.Recorder{Recorder: receipts.On(hooksDB), Traces: traces}, OptOuts: receipts.On(hooksDB), Logger: slog.Default(),
		Meter: metrics.meter, Receivers: cfg.providers.Receivers(cfg.PublicURL),
	})
	if err != nil {
		return served, err
	}
	served = rooms{
		from:    origins{allowed: cfg.AllowedOrigins, demo: cfg.Demo, refused: metrics.refuse},
		gate:    gate,
		api:     newAPI(cfg.Gateway, db, gate.Tickets),
		hub:     hub,
		hooks:   hooks,
		links:   newLinks(cfg.Gateway, hooksDB),
		pushKey: cfg.WebPushKey,
	}
	if cfg.IngestAudience != "" {
		served.ingest = &ingest.Endpoint{
			Store: ingest.On(db), Verifier: gate.Verifier.For(cfg.IngestAudience, cfg.signIn), Shares: signin.NewShares(ingest.Share),
			Refused: gate.Refused, Texts: template.Engine{LinkSchemes: cfg.LinkSchemes},
		}
	}
	if cfg.Demo {
		slog.Warn("GATEWAY_DEMO is on: each visitor can sign in as anybody")
		served.demo = &inbox.Demo{People: person.On(db), Settings: cfg.signIn}
	}
	return served, nil
}

func newGate(cfg settings, db *db.DB, metrics *metrics) *signin.Gate {
	return &signin.Gate{
		Verifier: signin.NewVerifier(cfg.signIn),
		Tickets: signin.Tickets{
			Store: inbox.On(db), Key: secret.Key(cfg.Secret, secret.Tickets), PreviousKey: secret.PreviousKey(cfg.SecretPrevious, secret.Tickets),
		},
		Shares:    signin.NewShares(signin.UsualShare),
		Directory: inbox.On(db),
		Refused:   func(reason signin.Reason) { metrics.refuse(string(reason)) },
	}
}

func newAPI(cfg config.Gateway, db *db.DB, tickets signin.Tickets) *inbox.API {
	codes := signin.Codes{
		Tickets: tickets, Key: secret.Key(cfg.Secret, secret.InboxCodes), PreviousKey: secret.PreviousKey(cfg.SecretPrevious, secret.InboxCodes),
	}
	return &inbox.API{
		Store: inbox.On(db), Pages: inbox.On(db), Preferences: preference.On(db), WebPush: cfg.WebPushKey != "", Tickets: tickets, Codes: codes,
	}
}

func newLinks(cfg config.Gateway, db *db.DB) *link.Pages {
	return &link.Pages{
		Links: link.Links{
			Key: secret.Key(cfg.Secret, secret.Unsubscribe), PreviousKey: secret.PreviousKey(cfg.SecretPrevious, secret.Unsubscribe),
		},
		Preferences: preference.On(db),
		Brand:       link.Brand{Name: cfg.BrandName, LogoURL: cfg.BrandLogoURL},
		Enter:       signin.NewShares(signin.UsualShare).Enter,
	}
}

func newHub(cfg config.Gateway, db *db.DB, meter metric.Meter) (*live.Hub, error) {
	return live.NewHub(live.Config{
		Inbox: inbox.On(db), Acknowledger: inbox.On(db), Directory: inbox.On(db),
		Logger: slog.Default(), Meter: meter, MaxSockets: cfg.MaxSockets, MaxSocketsPerRecipient: cfg.MaxSocketsPerRecipient,
	})
}

// needs returns the checks of /readyz. The broker has no check: during an outage of the broker the
// inbox works, and afterwards sockets get the missed notifications.
func needs(db *db.DB, verifier *signin.Verifier, public *public) []health.Need {
	return []health.Need{
		{Name: "database", Down: "does not answer, is read-only or a former primary, or has no schema of Herald's", Run: db.Ready},
		{Name: "keys", Down: "cannot be fetched from AUTH_JWKS_URL", Run: verifier.Ready},
		{Name: "server", Down: "has not started, or is about to stop", Run: public.ready},
	}
}

// settings holds all settings of the gateway.
type settings struct {
	config.Gateway
	signIn    signin.Settings
	traces    tracing.Settings
	providers wiring.Wiring // only with the settings of receipts
}

func readSettings(environ []string) (cfg settings, err error) {
	cfg.providers = wiring.New()
	readOthers := func(r *environment.Reader) {
		cfg.signIn.Read(r)
		cfg.traces.Read(r)
		cfg.providers.ReadReceipts(r)
	}
	cfg.Gateway, err = config.GatewayFrom(env.ToMap(environ), readOthers, wiring.New().Read)
	return cfg, err
}

// awaitDatabase waits until the database answers and has the schema of this build. It fails if
// the database is a read replica, or was set up with another HERALD_SECRET.
func awaitDatabase(ctx context.Context, db *db.DB) error {
	return health.Await(ctx, "the database, or for its schema", func(ctx context.Context) error {
		return migrate.Usable(ctx, db, migrations.FS)
	})
}

const usage = `gateway serves browsers: live notifications at /ws, the inbox and preferences under
/api/, and a page at /. It also takes events at /api/events, and the receipts of providers
at /webhooks/. Any number of gateways may run behind a proxy that terminates TLS.

Its settings come from the environment. The most important:
  DATABASE_URL, RABBITMQ_URL          the same servers as the worker's
  HERALD_SECRET                       the same for all processes: openssl rand -base64 32
  AUTH_ISSUER, AUTH_AUDIENCE          issuer and audience of recipients' tokens
  AUTH_HS256_SECRET or AUTH_JWKS_URL  verifies the tokens
  INGEST_AUDIENCE                     audience of producers' tokens; without it, no events
  SENDGRID_WEBHOOK_PUBLIC_KEY         verifies SendGrid's receipts
  TWILIO_AUTH_TOKEN, PUBLIC_URL       verify Twilio's receipts; the gateway's address
  VONAGE_SIGNATURE_SECRET             verifies Vonage's receipts
  WEBPUSH_VAPID_PUBLIC_KEY            lets the page offer browser notifications
  BRAND_NAME, BRAND_LOGO_URL          who the pages behind links are from
docs/reference.md lists all settings.

`

// parseFlags prints the reason for an error. The error is [flag.ErrHelp] if args ask for help.
func parseFlags(args []string) (showVersion bool, err error) {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.BoolVar(&showVersion, "version", false, "print the version and end")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("gateway takes no arguments, but got %q", flags.Args())
		fmt.Fprintln(flags.Output(), err)
		return false, err
	}
	return showVersion, nil
}
