package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
	"herald/internal/secret"
)

func (a *app) suppressionCommand() *cobra.Command {
	return group("suppression", "List, add and remove addresses that nothing is sent to",
		a.listSuppressionsCommand(), a.addSuppressionCommand(), a.removeSuppressionCommand())
}

// suppressionHelp says what the reasons are.
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
	console.WordFlag(cmd, &filter.Channel, "channel", operate.AddressedChannels(), "only this channel")
	console.WordFlag(cmd, &filter.Reason, "reason", notification.SuppressionReasons(), "only this reason")
	console.TimeFlag(cmd.Flags(), &filter.Since, "since", "only those suppressed since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	console.TextFlag(cmd.Flags(), &address.Text, "address", "with --channel: only this address")
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

// hashesOf returns by what the database knows an address that flags name.
func (a *app) hashesOf(address operate.Address) ([][]byte, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, err
	}
	var keys postgres.Store
	keys.UseSecrets(secret.Address(cfg.Secret), secret.Address(cfg.SecretPrevious))
	return address.Hashes(keys.AddressKeys())
}

// addressFlags adds the flags that name an address, which a command then needs.
func addressFlags(cmd *cobra.Command, address *operate.Address) {
	console.WordFlag(cmd, &address.Channel, "channel", operate.AddressedChannels(), "over which it gets nothing")
	console.TextFlag(cmd.Flags(), &address.Text, "address", "e-mail address, phone number or Slack webhook; it is kept nowhere")
	for _, name := range []string{"channel", "address"} {
		_ = cmd.MarkFlagRequired(name) // it fails only for a flag that there is not
	}
}

var suppressionHeader = []string{"CHANNEL", "REASON", "SINCE", "ADDRESS", "DETAIL"}

func suppressionCells(s report.Suppression) []string {
	return []string{string(s.Channel), string(s.Reason), console.Clock(&s.Since), s.AddressHash, console.Dash(s.Detail)}
}
