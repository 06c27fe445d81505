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
	"herald/internal/config/version"
	"herald/internal/db"
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
	answers, err := a.answers(ctx)
	if err != nil {
		return err
	}
	logs := slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn})
	cfg := mcp.Config{Answers: answers, Version: version.Read().String(), Logger: slog.New(logs)}
	if allowed {
		if cfg.Changes, err = a.mcpChanges(ctx, answers.Explain.DB); err != nil {
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
func (a *app) mcpChanges(ctx context.Context, db *db.DB) (*mcp.Changes, error) {
	actor, err := a.actor()
	if err != nil {
		return nil, err
	}
	launcher, err := a.launcher(ctx)
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

// answers returns what programs may read. Temporal may be out of reach.
func (a *app) answers(ctx context.Context) (answer.Reader, error) {
	explainer, err := a.explainer(ctx)
	if err != nil {
		return answer.Reader{}, err
	}
	cfg, err := a.settings()
	if err != nil {
		return answer.Reader{}, err
	}
	temporal := check.Engine{Namespace: a.namespace(), Sources: cfg.Sources}
	temporal.Launcher, temporal.Problem = a.launcher(ctx)
	run, err := a.checker(explainer.DB, cfg, wiring.New(), temporal)
	if err != nil {
		return answer.Reader{}, err
	}
	return answer.Reader{
		Explain: explainer, Sources: cfg.Sources,
		Pollers: func(ctx context.Context) (operate.Pollers, error) {
			if temporal.Launcher == nil {
				return operate.Pollers{}, temporal.Problem
			}
			return operate.ConfiguredPollers(ctx, temporal.Launcher, cfg.Sources)
		},
		CheckAll: func(ctx context.Context) check.Result { return run(ctx, checkedSince) },
	}, nil
}
