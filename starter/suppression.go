package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

func suppressionCommand(a *app) *cobra.Command {
	return group("suppression", "List, add and remove suppressed addresses",
		listSuppressionsCommand(a), addSuppressionCommand(a), removeSuppressionCommand(a))
}

// suppressionHelp explains the reasons.
const suppressionHelp = `
  BOUNCE     the mailbox does not exist
  COMPLAINT  the owner reported a message as spam
  OPT_OUT    the owner of the number answered STOP; only START ends it
  INVALID    the provider reports that the number is invalid, or gets no messages`

func listSuppressionsCommand(a *app) *cobra.Command {
	var filter list.SuppressionFilter
	var address operate.Address
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show suppressed addresses, the latest first",
		Long: `Show suppressed addresses, the latest first. They get no message over the channel,
mandatory or not: the decision is SUPPRESSED. Providers' receipts, answers to text
messages and operators suppress an address, each for a reason:
` + suppressionHelp + `

Herald stores only a hash of an address, keyed by HERALD_SECRET. It shows the beginning of
the hash. --address finds the rows of one address.`,
		Example: `  starter suppression list
  starter suppression list --channel EMAIL --reason COMPLAINT --since 7d
  starter suppression list --channel SMS --address +41791234567 -o json`,
	}
	terminal.WordFlag(cmd, &filter.Channel, "channel", operate.AddressedChannels(), "only this channel")
	terminal.WordFlag(cmd, &filter.Reason, "reason", notification.SuppressionReasons(), "only this reason")
	terminal.TimeFlag(cmd.Flags(), &filter.Since, "since",
		"only addresses suppressed since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	terminal.TextFlag(cmd.Flags(), &address.Text, "address", "with --channel: only this address")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		switch address.Channel = filter.Channel; {
		case address.Text == "":
			return nil
		case address.Channel == "":
			return errors.New("--address needs --channel")
		default:
			return address.Check()
		}
	}
	return listCommand(a, cmd, listing[list.Suppression]{
		name: "suppressions", none: "nothing is suppressed",
		header: suppressionHeader, cells: suppressionCells,
		read: func(ctx context.Context, db *db.DB, _ []string, from list.Place) (_ list.Page[list.Suppression], err error) {
			if address.Text != "" {
				if filter.AddressHashes, err = address.Hashes(db.AddressKeys()); err != nil {
					return list.Page[list.Suppression]{}, err
				}
			}
			found, err := list.Reader{Pool: db.Pool}.Suppressions(ctx, filter, from.Limit+1)
			return list.PageOf(found, from.Limit, nil), err
		},
	})
}

// addressFlags adds the flags that name an address, and makes them required.
func addressFlags(cmd *cobra.Command, address *operate.Address) {
	terminal.WordFlag(cmd, &address.Channel, "channel", operate.AddressedChannels(), "the channel of the address")
	terminal.TextFlag(cmd.Flags(), &address.Text, "address", "e-mail address, phone number or webhook; Herald does not store it")
	terminal.Require(cmd, "channel", "address")
}

var suppressionHeader = []string{"CHANNEL", "REASON", "SINCE", "ADDRESS", "DETAIL"}

func suppressionCells(s list.Suppression) []string {
	return []string{string(s.Channel), string(s.Reason), terminal.Clock(&s.Since), s.AddressHash, terminal.Dash(s.Detail)}
}

func addSuppressionCommand(a *app) *cobra.Command {
	var order operate.Suppressing
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Suppress an address",
		Long: `Suppress an address: it gets no more messages over the channel, mandatory or not. Waiting
deliveries are CANCELLED when they are due. Deliveries planned within the last minute may
still be sent. Herald stores only a hash of the address. The reason is one of
` + suppressionHelp,
		Example: `  starter suppression add --channel SMS --address +41791234567 --reason OPT_OUT --detail "asked us on the phone"
  starter suppression add --channel EMAIL --address ada@example.com --reason BOUNCE`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if err := order.Check(); err != nil {
				return misused(err)
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error { return addSuppression(ctx, a, o, order) })
		}),
	}
	addressFlags(cmd, &order.Address)
	terminal.WordFlag(cmd, &order.Reason, "reason", notification.SuppressionReasons(), "why")
	terminal.TextFlag(cmd.Flags(), &order.Detail, "detail", "a note, without the address")
	terminal.Require(cmd, "reason")
	return cmd
}

func addSuppression(ctx context.Context, a *app, o *operate.Operator, order operate.Suppressing) error {
	row, before, err := o.Suppress(ctx, order)
	if err != nil {
		return err
	}
	return a.Print(map[string]any{"suppression": row, "before": before}, func(w io.Writer) {
		said := "suppressed: the address gets no more messages"
		if before {
			said = "nothing changed: the address is suppressed for this reason already"
		}
		terminal.Row(w, said)
		terminal.List(w, suppressionHeader, []list.Suppression{row}, suppressionCells)
	})
}

func removeSuppressionCommand(a *app) *cobra.Command {
	var address operate.Address
	var reason notification.SuppressionReason
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Remove the suppression of an address",
		Long: `Remove the suppressions of an address: all, or with --reason one. Without --yes, it lists
the reasons and changes nothing. If the reason is COMPLAINT or OPT_OUT, the
owner said no: ask them first.

SendGrid and Twilio have separate lists. Remove the address there, too: otherwise they
refuse it, and Herald suppresses it again. Deliveries that were SUPPRESSED or CANCELLED
meanwhile are not sent; ` + "`starter delivery retry`" + ` sends those
that were planned.`,
		Example: `  starter suppression remove --channel EMAIL --address ada@example.com
  starter suppression remove --channel EMAIL --address ada@example.com --reason BOUNCE --yes`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if err := address.Check(); err != nil {
				return misused(err)
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
				return removeSuppression(ctx, a, o, address, reason, yes)
			})
		}),
	}
	addressFlags(cmd, &address)
	terminal.WordFlag(cmd, &reason, "reason", notification.SuppressionReasons(), "only the suppression for this reason")
	cmd.Flags().BoolVar(&yes, "yes", false, "remove the suppressions that it lists")
	return cmd
}

func removeSuppression(
	ctx context.Context, a *app, o *operate.Operator, address operate.Address, reason notification.SuppressionReason, yes bool,
) error {
	rows, err := o.PlanUnsuppress(ctx, address, reason)
	if err != nil {
		return err
	}
	if !yes {
		return misused(fmt.Errorf("nothing changed: the address is suppressed for %s; repeat with --yes to remove it", reasonsOf(rows)))
	}
	if err := o.Unsuppress(ctx, address, rows); err != nil {
		return err
	}
	return a.Print(map[string]any{"removed": rows}, func(w io.Writer) {
		terminal.Row(w, "removed: the address gets messages again, unless another reason remains")
		terminal.List(w, suppressionHeader, rows, suppressionCells)
	})
}

// reasonsOf returns a text such as "BOUNCE since 2026-11-21 10:00:00.000Z, OPT_OUT since …".
func reasonsOf(rows []list.Suppression) string {
	var said []string
	for _, row := range rows {
		said = append(said, fmt.Sprintf("%s since %s", row.Reason, terminal.Clock(&row.Since)))
	}
	return strings.Join(said, ", ")
}
