package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/config/secret"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
	"herald/internal/terminal"
)

func (a *app) suppressionCommand() *cobra.Command {
	return group("suppression", "List, add and remove addresses that nothing is sent to",
		a.listSuppressionsCommand(), a.addSuppressionCommand(), a.removeSuppressionCommand())
}

// suppressionHelp explains the reasons.
const suppressionHelp = `
  BOUNCE     the mailbox does not exist
  COMPLAINT  the owner reported a message as spam
  OPT_OUT    the owner of the number answered STOP; START takes that back, and nothing else
  INVALID    the provider says that it is no number, or none that gets messages`

func (a *app) listSuppressionsCommand() *cobra.Command {
	var filter report.SuppressionFilter
	var address operate.Address
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the addresses that nothing is sent to, the latest first",
		Long: `Show the addresses that nothing is sent to over a channel, whether it is mandatory or
not: the decision about them is SUPPRESSED. Receipts of the providers, answers to text
messages and operators put them there, each for a reason:
` + suppressionHelp + `

Herald keeps a hash of an address, keyed by HERALD_SECRET, and not the address. The
beginning of the hash is shown; with --address it says what is against that one.`,
		Example: `  starter suppression list
  starter suppression list --channel EMAIL --reason COMPLAINT --since 7d
  starter suppression list --channel SMS --address +41791234567 -o json`,
	}
	terminal.WordFlag(cmd, &filter.Channel, "channel", operate.AddressedChannels(), "only this channel")
	terminal.WordFlag(cmd, &filter.Reason, "reason", notification.SuppressionReasons(), "only this reason")
	terminal.TimeFlag(cmd.Flags(), &filter.Since, "since", "only those suppressed since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	terminal.TextFlag(cmd.Flags(), &address.Text, "address", "with --channel: only this address")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		switch address.Channel = filter.Channel; {
		case address.Text == "":
			return nil
		case address.Channel == "":
			return errors.New("--address goes with --channel")
		default:
			return address.Check()
		}
	}
	return listCommand(a, cmd, list[report.Suppression]{
		name: "suppressions", none: "nothing is suppressed",
		header: suppressionHeader, cells: suppressionCells,
		read: func(ctx context.Context, r report.Reader, limit int) (_ []report.Suppression, err error) {
			if address.Text != "" {
				if filter.AddressHashes, err = a.hashesOf(address); err != nil {
					return nil, err
				}
			}
			return r.Suppressions(ctx, filter, limit)
		},
	})
}

// hashesOf returns the hashes of an address as the database stores them, one for each secret.
func (a *app) hashesOf(address operate.Address) ([][]byte, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, err
	}
	var keys postgres.Store
	keys.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	return address.Hashes(keys.AddressKeys())
}

// addressFlags adds the flags that name an address, and makes them required.
func addressFlags(cmd *cobra.Command, address *operate.Address) {
	terminal.WordFlag(cmd, &address.Channel, "channel", operate.AddressedChannels(), "over which it gets nothing")
	terminal.TextFlag(cmd.Flags(), &address.Text, "address", "e-mail address, phone number or Slack webhook; it is kept nowhere")
	for _, name := range []string{"channel", "address"} {
		_ = cmd.MarkFlagRequired(name) // it fails only for a flag that does not exist
	}
}

var suppressionHeader = []string{"CHANNEL", "REASON", "SINCE", "ADDRESS", "DETAIL"}

func suppressionCells(s report.Suppression) []string {
	return []string{string(s.Channel), string(s.Reason), terminal.Clock(&s.Since), s.AddressHash, terminal.Dash(s.Detail)}
}

func (a *app) addSuppressionCommand() *cobra.Command {
	var order operate.Suppressing
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Have nothing sent to an address any more",
		Long: `Have nothing sent to an address any more, over one channel, whether it is mandatory or
not. What waits is CANCELLED when it is due; what was planned within the last minute may
still go out. The address is not kept: Herald knows it by its hash. The reason is one of
` + suppressionHelp,
		Example: `  starter suppression add --channel SMS --address +41791234567 --reason OPT_OUT --detail "asked us on the phone"
  starter suppression add --channel EMAIL --address ada@example.com --reason BOUNCE`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if err := order.Check(); err != nil {
				return misused(err)
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error { return a.addSuppression(ctx, o, order) })
		}),
	}
	addressFlags(cmd, &order.Address)
	terminal.WordFlag(cmd, &order.Reason, "reason", notification.SuppressionReasons(), "why")
	terminal.TextFlag(cmd.Flags(), &order.Detail, "detail", "what else there is to say, without the address")
	_ = cmd.MarkFlagRequired("reason") // it fails only for a flag that does not exist
	return cmd
}

func (a *app) addSuppression(ctx context.Context, o *operate.Operator, order operate.Suppressing) error {
	row, before, err := o.Suppress(ctx, order)
	if err != nil {
		return err
	}
	return a.Print(map[string]any{"suppression": row, "before": before}, func(w io.Writer) {
		said := "suppressed: nothing is sent to it any more"
		if before {
			said = "nothing was changed: it was suppressed before, for this reason"
		}
		terminal.Row(w, said)
		terminal.List(w, suppressionHeader, [][]string{suppressionCells(row)})
	})
}

func (a *app) removeSuppressionCommand() *cobra.Command {
	var address operate.Address
	var reason notification.SuppressionReason
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Let an address be written to again",
		Long: `Let an address be written to again. Without --reason, all that is against it goes. It
says what would go, and wants --yes: where the reason is COMPLAINT or OPT_OUT, somebody
said no, so ask them first.

SendGrid and Twilio have separate lists. They refuse what is on theirs all the same,
and suppressed again: take the address off their list, too. Deliveries that were
SUPPRESSED or CANCELLED meanwhile are not sent; ` + "`starter delivery retry`" + ` sends those
that were planned.`,
		Example: `  starter suppression remove --channel EMAIL --address ada@example.com
  starter suppression remove --channel EMAIL --address ada@example.com --reason BOUNCE --yes`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if err := address.Check(); err != nil {
				return misused(err)
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
				return a.removeSuppression(ctx, o, address, reason, yes)
			})
		}),
	}
	addressFlags(cmd, &address)
	terminal.WordFlag(cmd, &reason, "reason", notification.SuppressionReasons(), "only what is there for this reason")
	cmd.Flags().BoolVar(&yes, "yes", false, "remove what it says would go")
	return cmd
}

func (a *app) removeSuppression(ctx context.Context, o *operate.Operator, address operate.Address, reason notification.SuppressionReason, yes bool) error {
	rows, err := o.PlanUnsuppress(ctx, address, reason)
	if err != nil {
		return err
	}
	if !yes {
		return misused(fmt.Errorf("%s would go, and nothing was changed: to let the address be written to again add --yes", reasonsOf(rows)))
	}
	if err := o.Unsuppress(ctx, address, rows); err != nil {
		return err
	}
	return a.Print(map[string]any{"removed": rows}, func(w io.Writer) {
		terminal.Row(w, "removed: the address may be written to again, unless another reason is against it")
		var cells [][]string
		for _, row := range rows {
			cells = append(cells, suppressionCells(row))
		}
		terminal.List(w, suppressionHeader, cells)
	})
}

// reasonsOf returns a text such as "BOUNCE since 2026-11-21 10:00:00.000Z, OPT_OUT since …".
func reasonsOf(rows []report.Suppression) string {
	var said []string
	for _, row := range rows {
		said = append(said, fmt.Sprintf("%s since %s", row.Reason, terminal.Clock(&row.Since)))
	}
	return strings.Join(said, ", ")
}
