package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/config"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/outboxes"
	"herald/internal/terminal"
	"herald/tools/demo"
	"herald/tools/example"
)

// demoTimeout leaves time to look at what came of the deliveries.
const demoTimeout = demo.SettleTimeout + time.Minute

func (a *app) demoCommand() *cobra.Command {
	var sandboxURL string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Write the example events, and check that each delivery ends as the rules say",
		Long: `Write the example events, show their deliveries as they change, and end with a table of
who has what. It fails unless every delivery ended as the rules say, and the
sandbox's ledger agrees. It needs the example directory (starter seed), a running
poller, and a worker whose providers are the sandbox. It can be repeated.
If the sandbox sends receipts (starter sandbox --gateway), they say what arrived, and some
events follow that show what comes of them: a mail that bounces, so that the next is not
sent, and escalations. It needs HERALD_SECRET then, as the gateway has it.
If OUTBOX_SOURCES lists the outboxes of the example's two services, as "make demo" has it,
they write rows too, and the demo waits until Kafka has them.`,
		Example: "  starter demo --sandbox-url http://127.0.0.1:9090",
		RunE: a.within(demoTimeout, func(ctx context.Context, _ []string) error {
			return a.demo(ctx, sandboxURL)
		}),
	}
	cmd.Flags().StringVar(&sandboxURL, "sandbox-url", "http://127.0.0.1:9090", "where the sandbox is: scheme and host")
	return cmd
}

func (a *app) demo(ctx context.Context, sandboxURL string) error {
	if err := checkBaseURL(sandboxURL); err != nil {
		return misused(fmt.Errorf("--sandbox-url: %w", err))
	}
	cfg, err := a.settings()
	if err != nil {
		return err
	}
	events, err := example.Events()
	if err != nil {
		return err
	}
	services, err := demo.FindServices(cfg.Sources, string(cfg.DatabaseURL))
	if err != nil {
		return err
	}
	e, err := a.explainer(ctx)
	if err != nil {
		return err
	}
	if e.Temporal == nil {
		return e.Unreachable
	}
	scenes, err := example.Scenes()
	if err != nil {
		return err
	}
	d := &demo.Demo{
		Run: uuid.NewString()[:8], Events: events, Services: services, Scenes: scenes, Explainer: e, Sandbox: demo.Sandbox{BaseURL: sandboxURL},
		Changed: func(line string) { a.line("%s  %s", notification.InstantText(time.Now()), line) },
	}
	if err := a.demoReady(ctx, cfg, d); err != nil {
		return err
	}
	if d.Receipts, err = a.receiptsCome(ctx, d); err != nil {
		return err
	}
	writes := fmt.Sprintf("%d events of the example", len(events))
	if services != nil {
		writes += ", and what its two services write into separate outboxes"
	}
	if err := a.record(ctx, e.Store, writes, "demo-"+d.Run); err != nil {
		return err
	}
	if a.Format == terminal.Table {
		a.line("written: %s; their deliveries, whose ids have %s in them:", writes, d.Run)
	}
	return a.playDemo(ctx, d)
}

// playDemo plays the demo, prints the result, and fails where it is not as it must be.
func (a *app) playDemo(ctx context.Context, d *demo.Demo) error {
	result, err := d.Play(ctx)
	if result == nil {
		return err
	}
	if err := a.Print(result, func(w io.Writer) { printDemo(w, result) }); err != nil {
		return err
	}
	if len(result.Deviations) > 0 {
		err = errors.Join(err, fmt.Errorf("%d deviations from what the rules say", len(result.Deviations)))
	}
	if err != nil {
		return advice.With(err, "look at an event with `starter event show ID`, and at the worker's log")
	}
	return nil
}

// demoReady fails if the demo would wait for something that never comes.
func (a *app) demoReady(ctx context.Context, cfg config.Starter, d *demo.Demo) error {
	launcher := &launch.Launcher{Client: d.Explainer.Temporal, Namespace: d.Explainer.Namespace, Prefix: cfg.TaskQueuePrefix}
	for _, name := range d.Sources() {
		state, err := operate.RunningPollers(ctx, launcher, []outboxes.Source{cfg.BySource()[name]})
		switch {
		case err != nil:
			return err
		case len(state.Pollers) == 0:
			return advice.With(fmt.Errorf("no poller of the outbox %s is running", name), "run `starter poller start`")
		case state.Workers == 0:
			return advice.With(errors.New(state.ServedBy.Absent(state.TaskQueue, time.Now())), "start a worker")
		}
	}
	if err := d.Sandbox.Reachable(ctx); err != nil {
		return outOfReach("the sandbox", "start it with `starter sandbox`, and name it with --sandbox-url", err)
	}
	if d.Services == nil {
		a.Note("OUTBOX_SOURCES does not list the outboxes of the example's two services: they are left out")
	}
	if err := d.Ready(ctx); err != nil {
		return advice.With(err, "run `make demo`, which makes the tables and topics of the example's services; or unset OUTBOX_SOURCES to leave them out")
	}
	return nil
}

// receiptsCome reports whether the sandbox says what becomes of messages.
func (a *app) receiptsCome(ctx context.Context, d *demo.Demo) (bool, error) {
	_, sent, err := d.Sandbox.Receipts(ctx)
	switch {
	case err != nil:
		return false, err
	case !sent:
		a.Note("the sandbox sends no receipts: who has a message is not known, and the events that show what follows are left out")
	case d.Explainer.Store.AddressHash == nil:
		return false, advice.With(errors.New("HERALD_SECRET is not set, by which suppressed addresses are known"), `set it to the gateway's; for the local stack: eval "$(make -s env)"`)
	}
	return sent, nil
}

// line writes a line of progress: of a result in JSON it is no part.
func (a *app) line(format string, args ...any) {
	if a.Format == terminal.JSON {
		a.Note(format, args...)
		return
	}
	_, _ = fmt.Fprintln(a.Out, terminal.Printable(fmt.Sprintf(format, args...)))
}

// printDemo writes the table of who has what.
func printDemo(w io.Writer, r *demo.Result) {
	terminal.Row(w)
	terminal.Row(w, "EVENT", "RECIPIENT", "CHANNEL", "DECISION", "STATUS", "HAS IT", "WHY")
	for _, f := range r.Results {
		why := f.Why
		if why == "" && f.Digest != "" {
			why = fmt.Sprintf("in %s (%d)", f.Digest, r.Digests[f.Digest])
		}
		terminal.Row(w, f.Event, terminal.Dash(f.Recipient), terminal.Dash(f.Channel), terminal.Dash(f.Decision), terminal.Dash(f.Status), terminal.Dash(f.Has), terminal.Dash(why))
	}
	printRows(w, r.Rows)
	terminal.Row(w)
	var counts []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		counts = append(counts, fmt.Sprintf("%d %s", r.Statuses[status], status))
	}
	terminal.Row(w, fmt.Sprintf("%d events; deliveries: %s", len(r.Outcomes), strings.Join(counts, ", ")))
	for _, deviation := range r.Deviations {
		terminal.Row(w, "DEVIATION: "+deviation)
	}
	if len(r.Deviations) == 0 {
		terminal.Row(w, "every delivery ended as the rules say, and the ledger agrees")
	}
}

// printRows writes the table of the services' outboxes.
func printRows(w io.Writer, rows []demo.ServiceRow) {
	if len(rows) == 0 {
		return
	}
	terminal.Row(w)
	terminal.Row(w, "two services have separate outboxes; their rows are in Kafka:")
	terminal.Row(w, "OUTBOX", "EVENT", "TYPE", "MARK")
	for _, row := range rows {
		terminal.Row(w, row.Outbox, row.EventID, row.EventType, row.Mark)
	}
}
