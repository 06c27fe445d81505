// Command demo writes the example events, and checks that each delivery ends as the rules require.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"herald/internal/config"
	"herald/internal/config/secret"
	"herald/internal/db"
	"herald/internal/explain"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/terminal"
	"herald/tools/demo"
	"herald/tools/example"
	"herald/tools/sandbox"
)

// timeout limits the run. It leaves a minute to check the deliveries after the last has ended.
const timeout = demo.SettleTimeout + time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	out := &terminal.Output{Out: os.Stdout, Err: os.Stderr}
	err := command(out).ExecuteContext(ctx)
	stop()
	if err != nil {
		out.Note("error: %v", err)
		os.Exit(1)
	}
}

func command(out *terminal.Output) *cobra.Command {
	var sandboxURL string
	var all bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Write the example events, and check that each delivery ends as the rules say",
		Long: `Write the example events, and print who got what, with one line for similar events. With
--all, show each change of a delivery, and print one line for each person and channel.
The command fails unless every delivery ended as the rules say and the sandbox's ledger
agrees. It needs the example directory (starter seed), a poller, and a worker whose
providers are the sandbox. You can repeat it.

With receipts (sandbox --gateway) the table also shows the receipts. Then some more events show
what follows: one e-mail bounces, and two events escalate. This part needs HERALD_SECRET.

With the two services of the example in OUTBOX_SOURCES, as in "make demo", the demo also writes
their rows and waits until Kafka has them.`,
		Example:       "  demo --sandbox-url http://127.0.0.1:9090\n  demo --sandbox-url http://127.0.0.1:9090 --all",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return run(ctx, out, sandboxURL, all)
		},
	}
	out.AddFlag(cmd)
	cmd.Flags().StringVar(&sandboxURL, "sandbox-url", "http://127.0.0.1:9090", "where the sandbox is: scheme and host")
	cmd.Flags().BoolVar(&all, "all", false, "show each change, and each person and channel")
	return cmd
}

func run(ctx context.Context, out *terminal.Output, sandboxURL string, all bool) error {
	environment := env.ToMap(os.Environ())
	cfg, err := config.StarterFrom(environment)
	if err != nil {
		return err
	}
	d, err := newDemo(cfg, sandboxURL)
	if err != nil {
		return err
	}
	d.Started = func(what string) { out.Note("demo: writing %s, and waiting for their messages", what) }
	d.Changed = func(line string) {
		if all {
			progress(out, "%s  %s", notification.InstantText(time.Now()), line)
		}
	}
	if d.Explainer, err = connect(ctx, cfg, environment); err != nil {
		return err
	}
	defer d.Explainer.DB.Close()
	defer d.Explainer.Temporal.Close()
	if err := ready(ctx, out, cfg, d); err != nil {
		return err
	}
	out.Note("demo: the ids of this run contain %s", d.Run)
	stop := func() {}
	if !all {
		stop = out.Progress(func() string { return fmt.Sprintf("demo: delivering; %d messages are done", d.Ended()) })
	}
	result, err := d.Play(ctx)
	stop()
	if result == nil {
		return err
	}
	if err := out.Print(result, func(w io.Writer) { show(w, result, all) }); err != nil {
		return err
	}
	if n := len(result.Deviations); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d deviations from what the rules say: see `starter event show ID`, and the worker's log", n))
	}
	return err
}

func newDemo(cfg config.Starter, sandboxURL string) (*demo.Demo, error) {
	events, err := example.Events()
	if err != nil {
		return nil, err
	}
	acts, err := example.Acts()
	if err != nil {
		return nil, err
	}
	services, err := demo.FindServices(cfg.Sources, string(cfg.DatabaseURL))
	return &demo.Demo{
		Run: uuid.NewString()[:8], Events: events, Services: services, Acts: acts, Sandbox: sandbox.Client{URL: sandboxURL},
	}, err
}

// connect connects to the database and to Temporal.
func connect(ctx context.Context, cfg config.Starter, environment map[string]string) (e explain.Explainer, err error) {
	options, err := config.Temporal(environment)
	if err != nil {
		return e, err
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler)) // the caller gets the errors
	e.Namespace = options.Namespace
	if e.Temporal, err = client.DialContext(ctx, options); err != nil {
		return e, fmt.Errorf("connect to Temporal: %w: start it, or set TEMPORAL_ADDRESS", err)
	}
	if e.DB, err = db.Open(ctx, string(cfg.DatabaseURL), "herald-demo"); err != nil {
		return e, err
	}
	e.DB.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	return e, nil
}

// ready returns an error if something that the demo needs is missing or does not run.
func ready(ctx context.Context, out *terminal.Output, cfg config.Starter, d *demo.Demo) error {
	launcher := &launch.Launcher{Client: d.Explainer.Temporal, Namespace: d.Explainer.Namespace, Prefix: cfg.TaskQueuePrefix}
	for _, name := range d.Sources() {
		state, err := operate.RunningPollers(ctx, launcher, []relay.Source{cfg.BySource()[name]})
		switch {
		case err != nil:
			return err
		case len(state.Pollers) == 0:
			return fmt.Errorf("no poller of the outbox %s is running: run `starter poller start`", name)
		case state.Workers == 0:
			return fmt.Errorf("%s: start a worker", state.ServedBy.Absent(state.TaskQueue, time.Now()))
		}
	}
	shown, err := d.Sandbox.Receipts(ctx)
	d.Receipts = shown.Gateway != ""
	switch {
	case err != nil:
		return fmt.Errorf("the sandbox does not answer: %w: start bin/sandbox, and name it with --sandbox-url", err)
	case !d.Receipts:
		out.Note("the sandbox sends no receipts: the demo leaves out what follows from them")
	case d.Explainer.DB.AddressHash == nil:
		return errors.New(`HERALD_SECRET is not set: set it to the gateway's; for the local stack: eval "$(make -s env)"`)
	}
	if d.Services == nil {
		out.Note("OUTBOX_SOURCES does not list the outboxes of the example's two services: the demo leaves them out")
	}
	if err := d.Ready(ctx); err != nil {
		return fmt.Errorf("%w: run `make demo`, or unset OUTBOX_SOURCES to leave the services out", err)
	}
	return nil
}

// progress writes a line of progress. With JSON output it goes to stderr.
func progress(out *terminal.Output, format string, args ...any) {
	if out.Format == terminal.JSON {
		out.Note(format, args...)
		return
	}
	_, _ = fmt.Fprintln(out.Out, terminal.Printable(fmt.Sprintf(format, args...)))
}
