// Command sandbox replaces the providers of all channels, and sends nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"herald/internal/config/version"
	"herald/tools/sandbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// command returns the sandbox command, which writes its address and public key to notes.
func command(notes io.Writer) *cobra.Command {
	var addr, smtp string
	var cfg sandbox.Config
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Imitate the providers of all channels until interrupted",
		Long: `Imitate SendGrid, Twilio, Vonage, FCM, browsers' push services, Slack and receivers of webhooks on
one address, and a mail server on another, until interrupted. The page / shows the messages. The
ledger keeps one JSON line per request, also at /ledger. PUT /faults/{channel} makes a channel fail.

The sandbox refuses a text message whose receipts cannot reach PUBLIC_URL over the public
internet, as Twilio does. --local accepts such a message.

--gateway sends receipts, signed as SendGrid and Twilio sign them. A message is delivered, unless
its address says otherwise: bounce@example.com, +15005550103. PUT /receipts delays, repeats,
reorders or loses receipts. The gateway needs SENDGRID_WEBHOOK_PUBLIC_KEY, which the sandbox
prints, and TWILIO_AUTH_TOKEN.`,
		Example: `  sandbox --local --ledger sandbox.jsonl
  sandbox --local --ledger sandbox.jsonl --gateway http://127.0.0.1:8080 --sendgrid-key sandbox.pem
  sandbox --local --ledger sandbox.jsonl --gateway http://127.0.0.1:8080 --receipts '{"delay":"5s","lost":true,"rate":0.1}'`,
		Args:          cobra.NoArgs,
		Version:       version.Read().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), notes, addr, smtp, cfg)
		},
	}
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:9090", "where to listen; :9090 is open to other machines")
	cmd.Flags().StringVar(&smtp, "smtp", "", "where to listen as a mail server: 127.0.0.1:1025; without it the sandbox speaks no SMTP")
	cmd.Flags().StringVar(&cfg.Ledger, "ledger", "", "file of the ledger; an existing file is continued")
	cmd.Flags().BoolVar(&cfg.Local, "local", false, "accept callbacks that the public internet cannot reach")
	cmd.Flags().StringVar(&cfg.Gateway, "gateway", "", "where receipts go: scheme and host of PUBLIC_URL; without it the sandbox sends none")
	cmd.Flags().StringVar(&cfg.Key, "sendgrid-key", "",
		"file of the key that signs receipts of e-mails, made if absent; without it each start makes a new key")
	cmd.Flags().StringVar(&cfg.Receipts, "receipts", "", "delay, faults and outcomes of receipts in JSON, as PUT /receipts takes them")
	_ = cmd.MarkFlagRequired("ledger") // it fails only for an unknown flag
	return cmd
}

func serve(ctx context.Context, notes io.Writer, addr, smtp string, cfg sandbox.Config) (err error) {
	server, err := sandbox.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("%w: choose another address with --addr", err)
	}
	_, _ = fmt.Fprintf(notes, "the sandbox answers at http://%s\n", listener.Addr())
	if cfg.Gateway != "" {
		_, _ = fmt.Fprintf(notes, "the gateway needs SENDGRID_WEBHOOK_PUBLIC_KEY=%s\n", server.PublicKey())
	}
	var group errgroup.Group
	if smtp != "" {
		mails, err := new(net.ListenConfig).Listen(ctx, "tcp", smtp)
		if err != nil {
			return fmt.Errorf("%w: choose another address with --smtp", err)
		}
		_, _ = fmt.Fprintf(notes, "the sandbox takes mails at smtp://%s\n", mails.Addr())
		group.Go(func() error { return server.ServeSMTP(ctx, mails) })
	}
	group.Go(func() error { return server.Serve(ctx, listener) })
	return group.Wait()
}
