package main

import (
	"flag"
	"fmt"
)

const usage = `gateway serves browsers: live notifications at /ws, the inbox and preferences under
/api/, and a page at /; and what providers say of messages, at /webhooks/. Any number may
run side by side, behind what terminates TLS.

Its settings come from the environment, among them
  DATABASE_URL, RABBITMQ_URL          as the worker's
  HERALD_SECRET                       the same for all processes: openssl rand -base64 32
  AUTH_ISSUER, AUTH_AUDIENCE          whose tokens count, and for whom they are
  AUTH_HS256_SECRET or AUTH_JWKS_URL  what checks their signatures
  SENDGRID_WEBHOOK_PUBLIC_KEY         what checks SendGrid's
  TWILIO_AUTH_TOKEN, PUBLIC_URL       what checks Twilio's, and where it reaches the gateway
docs/reference.md has all of them.

`

func parseFlags(args []string) (showVersion bool, err error) {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.BoolVar(&showVersion, "version", false, "print the version and end")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(flags.Output(), "gateway takes no arguments, but got %q; gateway --help says what it takes\n", flags.Args())
		return false, flag.ErrHelp
	}
	return showVersion, nil
}
