package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"herald/internal/answer"
	"herald/internal/check"
	"herald/internal/config"
	"herald/internal/config/version"
	"herald/internal/db"
	"herald/internal/explain"
	"herald/internal/launch"
	"herald/internal/mcp"
	"herald/internal/operate"
	"herald/internal/wiring"
)

func mcpCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve what starter knows as tools of the Model Context Protocol",
		Long: `Serve what starter knows as tools of the Model Context Protocol (MCP), on the standard input and
output, for an assistant that helps an operator. The tools why, event_show, delivery_show, check,
simulate and status answer with ids, codes and counts. They never show a name, an address, a text, a
payload, a secret, or an error of a provider or server.

A client starts the command itself. Add it to the client's configuration, with the environment that
starter needs:

  {"mcpServers": {"herald": {"command": "starter", "args": ["mcp"],
    "env": {"DATABASE_URL": "…", "TEMPORAL_ADDRESS": "…"}}}}

With --allow-changes there are two more tools. plan_change returns what a change would do, and a token;
confirm_change takes the token and a reason, and makes the change once, if the plan is still the same.
The audit records it under HERALD_ACTOR, with --mcp. Events are approved and rejected by people only.`,
		Example: "  starter mcp\n  starter mcp --allow-changes",
	}
	var allowed bool
	cmd.Flags().BoolVar(&allowed, "allow-changes", false, "also offer tools that change deliveries and events")
	cmd.RunE = a.within(0, func(ctx context.Context, _ []string) error { return serveMCP(ctx, a, allowed) })
	return cmd
}

// nothingToClose is an output that stays open.
type nothingToClose struct{ io.Writer }

func (nothingToClose) Close() error { return nil }

func serveMCP(ctx context.Context, a *app, allowed bool) error {
	db, settings, err := a.store(ctx)
	if err != nil {
		return err
	}
	temporal, err := a.lazyTemporal()
	if err != nil {
		return err
	}
	launcher := a.launcherOf(temporal, settings)
	answers, err := a.answers(db, settings, wiring.New(), launcher)
	if err != nil {
		return err
	}
	logs := slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn})
	cfg := mcp.Config{Answers: answers, Version: version.Read().String(), Logger: slog.New(logs)}
	if allowed {
		if cfg.Changes, err = a.mcpChanges(db, launcher); err != nil {
			return err
		}
	}
	err = mcp.New(cfg).Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(a.in), Writer: nothingToClose{a.Out}})
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// mcpChanges returns what makes changes. Its tokens end with the process.
func (a *app) mcpChanges(db *db.DB, launcher *launch.Launcher) (*mcp.Changes, error) {
	actor, err := a.actor()
	if err != nil {
		return nil, err
	}
	return &mcp.Changes{
		Actor: actor, Forms: operate.Forms{Key: []byte(rand.Text())}, Now: time.Now,
		Operator: func(order operate.Order) *operate.Operator {
			return &operate.Operator{Order: order, DB: db, Launcher: launcher}
		},
	}, nil
}

// answers returns what programs may read. The check reads the settings of all providers into wired.
func (a *app) answers(db *db.DB, cfg config.Starter, wired wiring.Wiring, launcher *launch.Launcher) (answer.Reader, error) {
	run, err := a.checker(db, cfg, wired, check.Engine{Namespace: launcher.Namespace, Sources: cfg.Sources, Launcher: launcher})
	if err != nil {
		return answer.Reader{}, err
	}
	return answer.Reader{
		Explain: explain.Explainer{DB: db, Temporal: launcher.Client, Namespace: launcher.Namespace, Texts: texts(cfg)},
		Sources: cfg.Sources,
		Pollers: func(ctx context.Context) (operate.Pollers, error) {
			return operate.ConfiguredPollers(ctx, launcher, cfg.Sources)
		},
		CheckAll: func(ctx context.Context) check.Result { return run(ctx, checkedSince) },
	}, nil
}
