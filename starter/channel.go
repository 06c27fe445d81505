package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
	"herald/internal/wiring"
)

func channelCommand(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "Show the providers, in the order in which they are asked",
		Long: `Show the providers of all channels, in the order in which they are asked, and their states.
A provider rests if too many of its calls have failed: the next provider takes its place. If
all providers of a channel rest, its deliveries wait and use up no attempts. WEBSOCKET and
SLACK have one attempt: their providers never rest.

Below are the senders, with what recipients and carriers said of them within seven days. Above
a limit, the optional messages of a sender wait until 'starter channel resume --sender'.

ON is yes if the provider's settings are set in this environment.`,
		Example: "  starter channel list\n  starter channel list -o json",
		RunE:    a.ordering(commandTimeout, a.listProviders),
	}
	return group("channel", "Show, pause and choose the providers of channels", list,
		overrideCommand(a, "pause", notification.ProviderPaused, "gets no messages", "Send nothing through a provider",
			`Send nothing through a provider until 'starter channel resume'. The next provider of the
channel takes its place. Without one, the deliveries wait and use up no attempts; they may
expire meanwhile. A message that the provider may already hold waits for it.`),
		overrideCommand(a, "use", notification.ProviderUsed, "is asked first", "Ask a provider first, even if it fails",
			`Ask a provider before the other providers of its channel, even if it fails, until 'starter
channel resume'. A message that another provider may already hold stays with that provider.`),
		resumeCommand(a))
}

// resumeCommand returns the command that ends an order, or the pause of a sender.
func resumeCommand(a *app) *cobra.Command {
	cmd := overrideCommand(a, "resume", "", "follows the settings and its failures again",
		"Undo 'pause' and 'use', and end the provider's rest",
		`Undo 'pause' and 'use', and end the provider's rest. Herald asks the providers in the
order of the settings again.

With --sender, let the optional messages of a sender go again that Herald has paused because
of complaints, bounces or blocks. This needs a --reason. What was sent before counts no more.
Deliveries that wait follow within six minutes, or within an eighth of the time that the
sender was paused.`)
	cmd.Example += "\n  starter channel resume sendgrid --sender news@example.com --reason 'old addresses removed'"
	var sender string
	terminal.TextFlag(cmd.Flags(), &sender, "sender", "resume the optional messages of this `SENDER`, such as EMAIL_FROM")
	override := cmd.RunE
	resume := a.ordering(commandTimeout, func(ctx context.Context, o *operate.Operator, args []string) error {
		if err := o.ResumeSender(ctx, args[0], sender); err != nil {
			return err
		}
		return a.Print(map[string]any{"provider": args[0], "sender": sender, "resumed": true},
			func(w io.Writer) { terminal.Row(w, "optional messages from "+sender+" are sent again") })
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if sender != "" {
			return resume(cmd, args)
		}
		return override(cmd, args)
	}
	return cmd
}

// overrideCommand returns the command that gives an order about a provider.
func overrideCommand(a *app, use string, order notification.ProviderOverride, result, short, long string) *cobra.Command {
	return &cobra.Command{
		Use:     use + " PROVIDER",
		Short:   short,
		Long:    long + "\n\nAll workers follow within five seconds. Restarts do not end the order.",
		Example: "  starter channel " + use + " smtp",
		Args:    cobra.ExactArgs(1),
		RunE: a.ordering(commandTimeout, func(ctx context.Context, o *operate.Operator, args []string) error {
			if err := o.OverrideProvider(ctx, args[0], order); err != nil {
				return err
			}
			return a.Print(map[string]any{"provider": args[0], "override": order}, func(w io.Writer) { terminal.Row(w, args[0]+" "+result) })
		}),
	}
}

func (a *app) listProviders(ctx context.Context, o *operate.Operator, _ []string) error {
	wired := wiring.New()
	if err := config.SendersFrom(a.environment, wired.Read); err != nil {
		return misset(err)
	}
	providers, err := operate.ReadProviders(ctx, o.DB, wired)
	if err != nil {
		return err
	}
	return a.Print(map[string]any{"providers": providers}, func(w io.Writer) {
		terminal.Row(w, "CHANNEL", "PROVIDER", "ON", "STATE")
		for _, p := range providers {
			terminal.Row(w, p.Channel, p.Provider, yes(p.On), stateOf(p.ProviderState))
		}
		for _, p := range providers {
			printSenders(w, p.Senders)
		}
	})
}

// stateOf returns a provider's state in words.
func stateOf(p notification.ProviderState) string {
	why := ""
	if p.Reason != "" {
		why = ": " + p.Reason
	}
	switch {
	case p.Override == notification.ProviderPaused:
		return "paused by " + p.By + why
	case p.Override == notification.ProviderUsed:
		return "asked first, by " + p.By + why
	case p.Rests == 0:
		return "works"
	case time.Now().Before(p.RestsUntil):
		return fmt.Sprintf("rests until %s, rest %d in a row: %s", terminal.Clock(&p.RestsUntil), p.Rests, p.Failure)
	default:
		return fmt.Sprintf("the next message tries it again; rests in a row: %d; %s", p.Rests, p.Failure)
	}
}

// printSenders prints the senders, and what was said of them.
func printSenders(w io.Writer, states []notification.SenderState) {
	for _, s := range states {
		terminal.Row(w, "sender "+s.Sender+" at "+s.Provider, senderState(s))
	}
}

// senderState returns a sender's state in words.
func senderState(s notification.SenderState) string {
	switch s.Level() {
	case notification.SenderPaused:
		return fmt.Sprintf("optional messages are paused since %s: %s. Next: starter channel resume %s --sender %s --reason TEXT",
			terminal.Clock(s.PausedAt), s.Figures(), s.Provider, advice.Quote(s.Sender))
	case notification.SenderHalf:
		return "over half of the limit: " + s.Figures()
	case notification.SenderQuarter:
		return "over a quarter of the limit: " + s.Figures()
	default:
		return s.Figures()
	}
}

// printProviders prints the providers that rest or have an operator's order.
func printProviders(w io.Writer, states []notification.ProviderState) {
	for _, p := range states {
		if p.Rests > 0 || p.Override != "" {
			terminal.Row(w, "provider "+p.Provider, stateOf(p))
		}
	}
}
