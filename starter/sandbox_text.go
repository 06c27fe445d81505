package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/sandbox"
)

func (a *app) sandboxTextCommand() *cobra.Command {
	var url string
	var text sandbox.Text
	cmd := &cobra.Command{
		Use:   "text --from NUMBER TEXT",
		Short: "Answer a text message as a person does: STOP, START, HELP or anything else",
		Long: `Have a running sandbox pass on a text as if a person had sent it from their phone: signed, to
the gateway's /webhooks/twilio/inbound, for the account that sent the last text message. After
STOP the sandbox refuses every text message to that number with 21610, as Twilio does, until
the number sends START.`,
		Example: "  starter sandbox text --sandbox-url http://127.0.0.1:9090 --from +393331234567 STOP",
		Args:    cobra.ExactArgs(1),
		RunE: a.within(commandTimeout, func(ctx context.Context, args []string) error {
			text.Body = args[0]
			return a.sandboxText(ctx, url, text)
		}),
	}
	cmd.Flags().StringVar(&url, "sandbox-url", "http://127.0.0.1:9090", "where the sandbox is: scheme and host")
	console.TextFlag(cmd.Flags(), &text.From, "from", "the person's number: +393331234567")
	_ = cmd.MarkFlagRequired("from") // it fails only for a flag that there is not
	return cmd
}

func (a *app) sandboxText(ctx context.Context, url string, text sandbox.Text) error {
	if err := checkBaseURL(url); err != nil {
		return misused(fmt.Errorf("--sandbox-url: %w", err))
	}
	answered, err := sandbox.SendText(ctx, url, text)
	if err != nil {
		return advice.With(err, "start a sandbox with --gateway, name it with --sandbox-url, and look at the gateway's log")
	}
	return a.Print(answered, func(w io.Writer) {
		console.Row(w, "the gateway took the text")
		switch answered.OptOutType {
		case "STOP":
			console.Row(w, "text messages to the number are refused with 21610 until it sends START")
		case "START":
			console.Row(w, "text messages to the number are accepted")
		}
	})
}
