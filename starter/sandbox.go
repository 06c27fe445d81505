package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/tools/sandbox"
)

func (a *app) sandboxCommand() *cobra.Command {
	var addr string
	var cfg sandbox.Config
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Answer as SendGrid, Twilio, FCM and Slack until interrupted",
		Long: `Answer as all providers on one address, until interrupted. What would have reached
somebody is shown at / and kept in the ledger, one JSON line per request, also served
at /ledger. PUT /faults/{channel} disturbs a channel.

As Twilio does, it refuses a text message whose receipts it could not send over the public
internet (PUBLIC_URL), unless --local says that it runs next to Herald.

With --gateway it says what becomes of the messages, in receipts that are signed as SendGrid's
and Twilio's are: delivered, unless the address says otherwise, as bounce@example.com and
+15005550103 do. PUT /receipts makes them late, come twice or in any order, or loses them. The
gateway needs SENDGRID_WEBHOOK_PUBLIC_KEY, which the sandbox prints, and TWILIO_AUTH_TOKEN.`,
		Example: `  starter sandbox --local --ledger sandbox.jsonl
  starter sandbox --local --ledger sandbox.jsonl --gateway http://127.0.0.1:8080 --sendgrid-key sandbox.pem
  starter sandbox --local --ledger sandbox.jsonl --gateway http://127.0.0.1:8080 --receipts '{"delay":"5s","lost":true,"rate":0.1}'`,
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			return a.sandbox(ctx, addr, cfg)
		}),
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:9090", "where to listen; :9090 is open to other machines")
	cmd.Flags().StringVar(&cfg.Ledger, "ledger", "", "file of the ledger; continued where it exists")
	cmd.Flags().BoolVar(&cfg.Local, "local", false, "accept callbacks that the public internet cannot reach")
	cmd.Flags().StringVar(&cfg.Gateway, "gateway", "", "where receipts go, scheme and host, as through the proxy of PUBLIC_URL; without it none are sent")
	cmd.Flags().StringVar(&cfg.Key, "sendgrid-key", "", "file of the key that signs receipts of e-mails; made where there is none; without it a new key at each start")
	cmd.Flags().StringVar(&cfg.Receipts, "receipts", "", "delay, faults and outcomes of receipts, in JSON, as PUT /receipts takes them")
	_ = cmd.MarkFlagRequired("ledger") // it fails only for a flag that there is not
	return cmd
}

func (a *app) sandbox(ctx context.Context, addr string, cfg sandbox.Config) (err error) {
	if err := checkBaseURL(cfg.Gateway); cfg.Gateway != "" && err != nil {
		return misused(fmt.Errorf("--gateway: %w", err))
	}
	server, err := sandbox.New(cfg)
	if err != nil {
		return advice.With(err, "name another file with --ledger or --sendgrid-key, or correct --receipts")
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return advice.With(fmt.Errorf("listen: %w", err), "choose another address with --addr")
	}
	a.Note("the sandbox answers at http://%s", listener.Addr())
	if cfg.Gateway != "" {
		a.Note("the gateway needs SENDGRID_WEBHOOK_PUBLIC_KEY=%s", server.PublicKey())
	}
	return server.Serve(ctx, listener)
}
