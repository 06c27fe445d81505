package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/sandbox"
)

func (a *app) sandboxCommand() *cobra.Command {
	var addr, ledger string
	var local bool
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Stand in for SendGrid, Twilio, FCM and Slack until interrupted",
		Long: `Stand in for all providers on one address, until interrupted. What would have reached
somebody is shown at / and kept in the ledger, one JSON line per request, also served
at /ledger. PUT /faults/{channel} disturbs a channel.

As Twilio does, it refuses a text message whose receipts it could not send over the public
internet (PUBLIC_URL), unless --local says that it stands beside Herald.`,
		Example: "  starter sandbox --local --ledger sandbox.jsonl",
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			return a.sandbox(ctx, addr, sandbox.Config{Ledger: ledger, Local: local})
		}),
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:9090", "where to listen; :9090 is open to other machines")
	cmd.Flags().StringVar(&ledger, "ledger", "", "file of the ledger; continued where it exists")
	cmd.Flags().BoolVar(&local, "local", false, "accept callbacks that the public internet cannot reach")
	_ = cmd.MarkFlagRequired("ledger") // it fails only for a flag that there is not
	return cmd
}

func (a *app) sandbox(ctx context.Context, addr string, cfg sandbox.Config) (err error) {
	server, err := sandbox.New(cfg)
	if err != nil {
		return advice.With(err, "name another file with --ledger")
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return advice.With(fmt.Errorf("listen: %w", err), "choose another address with --addr")
	}
	a.Note("the sandbox answers at http://%s", listener.Addr())
	return server.Serve(ctx, listener)
}
