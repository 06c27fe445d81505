package main

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/terminal"
)

func (a *app) vapidCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "vapid",
		Short: "Make the keys of Web Push, as settings",
		Long: `Make the keys of Web Push (VAPID, RFC 8292), and print them as settings. Workers need the private
key and WEBPUSH_SUBJECT. Gateways need the public key. The private key is a secret, and nobody
stores it for you.

Browsers subscribe with the public key. With new keys, each browser must subscribe again: the inbox
page does that when its person opens it.`,
		Example: `  starter secret vapid
  starter secret vapid >> herald.env`,
		RunE: a.within(0, func(context.Context, []string) error {
			private, err := ecdh.P256().GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			keys := vapidKeys{base64.RawURLEncoding.EncodeToString(private.Bytes()), base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes())}
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
