package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/converter"

	"herald/internal/config"
	"herald/internal/config/secret"
	"herald/internal/operate"
	"herald/internal/web/console"
	"herald/internal/wiring"
)

func consoleCommand(a *app) *cobra.Command {
	addr := "127.0.0.1:8083"
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve what starter knows as pages, for operators and support",
		Long: `Serve what starter knows as pages: what each recipient got and did not get, and why; events,
deliveries, failures and providers. Each change has a plan, a reason and a row in the audit.

On a loopback address, everybody who reaches it acts as you. On any other address, a proxy has to
sign people in: CONSOLE_USER_HEADER is the header with their name, and CONSOLE_ORIGIN is the
address that browsers see. Then only the proxy may reach the console.

Everybody may do everything, unless CONSOLE_GROUPS_HEADER is set: the header in which the proxy names
the groups of the person, with commas. Then CONSOLE_ROLES names the groups of each role:
viewer=support,operator=oncall+sre,approver=managers,editor=marketing. * stands for everybody.`,
		Example: "  starter console\n  starter console --addr 127.0.0.1:9000",
	}
	cmd.Flags().StringVar(&addr, "addr", addr, "the `ADDRESS` to listen on")
	cmd.RunE = a.within(0, func(ctx context.Context, _ []string) error { return serveConsole(ctx, a, addr) })
	return cmd
}

func serveConsole(ctx context.Context, a *app, addr string) error {
	actor, err := a.actor()
	if err != nil {
		return err
	}
	roles, err := console.ParseRoles(a.environment["CONSOLE_ROLES"])
	if err != nil {
		return misset(err)
	}
	access := console.Access{
		Actor: actor, UserHeader: a.environment["CONSOLE_USER_HEADER"], GroupsHeader: a.environment["CONSOLE_GROUPS_HEADER"], Roles: roles,
		Origin: a.environment["CONSOLE_ORIGIN"], WebUI: a.environment["CONSOLE_WEB_UI_ORIGIN"],
	}
	if err := access.Check(addr); err != nil {
		return misset(err)
	}
	pages, err := a.newConsole(ctx, access)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	server := &http.Server{
		Handler: pages.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute,
		IdleTimeout: time.Minute,
	}
	ended := context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = server.Shutdown(closing)
	})
	defer ended()
	a.Note("the console is at http://%s; stop it with Ctrl+C", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (a *app) newConsole(ctx context.Context, access console.Access) (*console.Console, error) {
	db, cfg, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	launcher, err := a.launcher(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := config.Codec(a.environment)
	if err != nil {
		return nil, misset(err)
	}
	wired := wiring.New()
	answers, err := a.answers(db, cfg, wired, launcher)
	if err != nil {
		return nil, err
	}
	key := secret.Key(cfg.Secret, secret.ConsoleForms)
	if cfg.Secret == "" { // then a restart makes all open forms invalid
		key = []byte(rand.Text())
	}
	return console.New(console.Config{
		Explain: answers.Explain,
		Answers: answers,
		Operator: func(order operate.Order) *operate.Operator {
			return &operate.Operator{Order: order, DB: db, Launcher: launcher}
		},
		Providers: func(ctx context.Context) ([]operate.ProviderView, error) {
			return operate.ReadProviders(ctx, db, wired)
		},
		Pollers: answers.Pollers,
		Check:   answers.CheckAll,
		Codec:   converter.NewPayloadCodecHTTPHandler(keys),
		Sources: cfg.Sources, Access: access, Key: key, Logger: slog.New(slog.NewTextHandler(a.Err, nil)),
	}), nil
}
