// Command bench measures Herald on the local stack, in turn with other ways to do the same:
// on one machine at one time, so that their ratio says more than their figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// benchmark is a case that is picked by its name, and is not in the table.
type benchmark struct {
	name, about string
	run         func(ctx context.Context, args []string, out io.Writer) error
}

var cases = []benchmark{
	{"relay-to-kafka", "rows per second from an outbox to Kafka: `mode: batch`, a plain loop, and a workflow for each row", relayToKafka},
	{"sockets", "what a gateway with thousands of open sockets adds to a message's way, beside the least that does the same", sockets},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		for _, c := range cases {
			if c.name == args[0] {
				return c.run(ctx, args[1:], out)
			}
		}
	}
	return runTable(ctx, args, out)
}

func help(out io.Writer) {
	fmt.Fprint(out, `bench measures Herald on the local stack, in turn with other ways to do the same.

  make bench                                    run the table, in a quarter of an hour
  make bench ARGS='deliveries latency'          run these cases of it
  make bench ARGS='--pairs 7 deliveries --events 20'
  make bench ARGS='CASE --help'                 say what it measures, and its flags

It makes a database, topics and a vhost of its own, and removes them at the end, also
when it is interrupted. Figures of one machine say little of another; what is compared runs
in turn, so ratios say more. Leave the machine alone meanwhile.

cases of the table:
`)
	for _, c := range comparisons() {
		about := c.about
		if c.named {
			about += "; only where it is named"
		}
		fmt.Fprintf(out, "  %-18s %s\n", c.name, about)
	}
	fmt.Fprint(out, "\ncases by themselves:\n")
	for _, c := range cases {
		fmt.Fprintf(out, "  %-18s %s\n", c.name, c.about)
	}
}
