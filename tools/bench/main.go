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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := runTable(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func help(out io.Writer) {
	fmt.Fprint(out, `bench measures Herald on the local stack, in turn with other ways to do the same.

  make bench                                    run the table
  make bench ARGS='deliveries latency'          run these cases of it
  make bench ARGS='--against HEAD~1 deliveries' compare with Herald at another commit
  make bench ARGS='--pairs 7 deliveries --events 20'
  make bench ARGS='CASE --help'                 say what it measures, and its flags

It makes a database, topics and a vhost, and removes them at the end, also
when it is interrupted. Figures of one machine say little of another; what is compared runs
in turn, so ratios say more. Leave the machine alone meanwhile.

cases:
`)
	for _, c := range comparisons() {
		about := c.about
		if c.named {
			about += "; only where it is named"
		}
		fmt.Fprintf(out, "  %-22s %s\n", c.name, about)
	}
}

// comparisons are the cases of the table, in the order in which they run. Each is a function in
// a separate file, which has:
//
//   - flags: its sizes, with the defaults of the published table. They stand behind its name.
//   - open: prepares both sides, mostly by s.herald, and returns what runs a round of each.
//     What it made is removed by s.atEnd and, of an installation, by the frame.
//   - goals: the figures of A that are to reach a ratio to B's.
//
// The frame runs the rounds in turn (A B A B …, the first pairs as a warm-up), prints progress,
// and makes medians, spreads and ratios of what the rounds return. A round leaves nothing running
// that the next would feel. The whole table takes 15 minutes at most: choose sizes for it.
func comparisons() []*comparison {
	return []*comparison{
		deliveries(),
		latency(),
		broadcast(),
		nextToABroadcast(),
		relayToKafka(),
		relayToKafkaAndPeople(),
		relayMemory(),
		relayMissingTopic(),
	}
}

// comparison is a case of the table: A, which is Herald, in turn with B, to which it is
// compared with.
type comparison struct {
	name  string
	about string // for people who choose
	a, b  string // what each side does
	named bool   // it runs only where it is named
	pairs int    // that count; 0: as many as the table has
	limit time.Duration

	flags func(flags *flag.FlagSet)
	open  func(ctx context.Context, s *stage) (a, b round, err error)
	goals []goal
}

// round runs one round of one side, and returns its figures. Both sides name theirs alike where
// they are to be compared.
type round func(ctx context.Context) (*figures, error)

// figures are the findings of one round, in the order in which they are printed.
type figures struct{ all []measured }

// measured is one figure of a round, or many samples of which percentiles are printed.
type measured struct {
	name, unit string
	samples    []float64
	sampled    bool
}

// add adds a figure.
func (f *figures) add(name, unit string, value float64) {
	f.all = append(f.all, measured{name, unit, []float64{value}, false})
}

// addSamples adds what percentiles are made of: of all rounds together, since one has few. Their
// figures are called "NAME p50", "NAME p95" and "NAME p99".
func (f *figures) addSamples(name, unit string, samples []float64) {
	f.all = append(f.all, measured{name, unit, samples, true})
}
