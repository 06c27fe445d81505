package main

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/operate"
	"herald/internal/person"
	"herald/internal/terminal"
)

func rekeyCommand(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "rekey",
		Short: "Move suppressed addresses from HERALD_SECRET_PREVIOUS to HERALD_SECRET",
		Long: `Move suppressed addresses from HERALD_SECRET_PREVIOUS to HERALD_SECRET. Herald stores only
their hashes. So it hashes the addresses of the directory, and then the addresses of
notifications. No opt-out is lost: a suppression whose address is in neither place stays
under the previous secret. Then every process still needs HERALD_SECRET_PREVIOUS.

To replace the secret:
  1. Restart all gateways and workers with the new HERALD_SECRET, and with the old one as
     HERALD_SECRET_PREVIOUS. Old and new processes run side by side.
  2. When all of them have the new secret: starter secret rekey
  3. When it prints that the previous secret is retired, remove HERALD_SECRET_PREVIOUS.
     Unsubscribe links in older mails need it: keep it as long as these links must work.

You can interrupt it, and run it again. It sends no messages.`,
		Example: `  starter secret rekey --dry-run
  starter secret rekey`,
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error { return rekey(ctx, a, o, dryRun) }),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count the addresses, and change nothing")
	return cmd
}

// rekeyView is the output of `starter secret rekey`.
type rekeyView struct {
	DryRun bool `json:"dry_run"`
	person.Rekeying
}

func rekey(ctx context.Context, a *app, o *operate.Operator, dryRun bool) error {
	if len(o.DB.AddressKeys()) < 2 {
		return advice.With(errors.New("HERALD_SECRET_PREVIOUS is not set: there is no secret to move suppressions from"),
			"set HERALD_SECRET to the new secret and HERALD_SECRET_PREVIOUS to the old one, with the same values as in all processes")
	}
	if !dryRun {
		if err := o.Record(ctx, o.Order.Flags, "recipient_suppression"); err != nil {
			return err
		}
	}
	set, stop := a.ProgressLine("reading the directory …")
	done, err := person.On(o.DB).Rekey(ctx, dryRun, func(r person.Rekeying) {
		set(fmt.Sprintf("%s recipients and %s notifications read, %s suppressions moved …",
			terminal.Grouped(r.Recipients), terminal.Grouped(r.Notifications), terminal.Grouped(r.Moved)))
	})
	stop()
	if !dryRun {
		err = cmp.Or(err, o.RecordChanged(ctx, fmt.Sprintf("%d suppressions", done.Moved), "recipient_suppression"))
	}
	if err != nil {
		return advice.With(fmt.Errorf("stopped: %w", err), "run it again: it continues with the remaining addresses")
	}
	return show(a, rekeyView{dryRun, done}, nil, printRekeyed)
}

func printRekeyed(w io.Writer, view rekeyView) {
	moved := "moved to HERALD_SECRET"
	if view.DryRun {
		moved = "would move to HERALD_SECRET"
	}
	terminal.Row(w, "recipients read", terminal.Grouped(view.Recipients))
	terminal.Row(w, "notifications read", terminal.Grouped(view.Notifications))
	terminal.Row(w, moved, terminal.Grouped(view.Moved))
	terminal.Row(w, "left under HERALD_SECRET_PREVIOUS", terminal.Grouped(view.Remaining))
	terminal.Row(w)
	switch {
	case view.Retired:
		terminal.Row(w, "the previous secret is retired: remove HERALD_SECRET_PREVIOUS when links in older mails no longer have to work")
	case view.Remaining > 0:
		terminal.Row(w,
			"nobody in the directory has the remaining addresses: keep HERALD_SECRET_PREVIOUS in all processes, so that they stay suppressed")
	case !view.DryRun:
		terminal.Row(w, "a suppression was added meanwhile: run it again")
	}
}

func vapidCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "vapid",
		Short: "Make the keys of Web Push, as settings",
		Long: `Make the keys of Web Push (VAPID, RFC 8292), and print them as settings. Workers need the private
key and WEBPUSH_SUBJECT. Gateways need the public key. The private key is a secret, and nobody
stores it for you.

Browsers subscribe with the public key. With new keys, each browser must subscribe again: the inbox
page does that when its user opens it.`,
		Example: `  starter secret vapid
  starter secret vapid >> herald.env`,
		RunE: a.within(0, func(context.Context, []string) error {
			private, err := ecdh.P256().GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			keys := vapidKeys{
				base64.RawURLEncoding.EncodeToString(private.Bytes()), base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()),
			}
			return a.Print(keys, func(w io.Writer) {
				terminal.Row(w, "WEBPUSH_VAPID_PRIVATE_KEY="+keys.Private)
				terminal.Row(w, "WEBPUSH_VAPID_PUBLIC_KEY="+keys.Public)
			})
		}),
	}
}

// vapidKeys is the output of `starter secret vapid`.
type vapidKeys struct {
	Private string `json:"private_key"`
	Public  string `json:"public_key"`
}
