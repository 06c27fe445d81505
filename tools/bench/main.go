// Command bench measures Herald on the local stack, in turn with other programs that do the same
// work on the same machine. Compare the ratios, not the absolute figures.
package main

import (
	"cmp"
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
  make bench ARGS='deliveries broadcast'        run these cases of it
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

// comparisons returns the cases of the table, in the order in which they run. Each case is a
// function in a separate file and has:
//
//   - flags: its sizes, with the defaults of the published table. On the command line they
//     follow the name of the case.
//   - open: prepares both sides, usually with s.herald, and returns a round function for each. nil:
//     there is no B.
//     It registers with s.AtEnd the removal of everything that it created, except installations,
//     which are registered already.
//   - goals: the ratios that figures of A must reach, compared with B.
//
// The table runs the rounds in turn (A B B A …, the first pairs as a warm-up), prints progress,
// and computes medians, spreads and ratios. A round must leave nothing running that slows down
// the next round. The whole table takes at most 15 minutes: choose sizes for it.
func comparisons() []*comparison {
	return []*comparison{
		load(),
		events(),
		deliveries(),
		floor(),
		broadcast(),
		nextToABroadcast(),
		outage(),
		lifecycle(),
		relayToKafka(),
		relayToKafkaAndPeople(),
		relayMemory(),
		relayMissingTopic(),
		followers(),
		restore(),
		console(),
	}
}

// comparison is a case of the table. It compares A, which is Herald, with B.
type comparison struct {
	name  string
	about string        // description in the help
	a, b  string        // what each side does; b empty: there is only A, except with --against
	named bool          // runs only if the command line names it
	pairs int           // number of counted pairs; 0: as in the table
	limit time.Duration // of the whole case; 0: caseTime

	flags func(flags *flag.FlagSet)
	open  func(ctx context.Context, s *stage) (a, b round, err error)
	goals []goal
}

// otherSide describes B.
func (c *comparison) otherSide() string { return cmp.Or(c.b, "nothing: name a commit with --against") }

// round runs one round of one side, and returns its figures. The table compares figures of both
// sides that have the same name.
type round func(ctx context.Context) (*figures, error)

// figures holds the results of one round, in the order of the table.
type figures struct{ all []measured }

// measured is one figure of a round, or many samples from which the table computes percentiles.
type measured struct {
	name, unit string
	samples    []float64
	sampled    bool
}

// add adds a figure.
func (f *figures) add(name, unit string, value float64) {
	f.all = append(f.all, measured{name, unit, []float64{value}, false})
}

// addSamples adds samples for percentiles. The table uses the samples of all rounds together,
// because one round has few. The figures are called "NAME p50", "NAME p95" and "NAME p99".
func (f *figures) addSamples(name, unit string, samples []float64) {
	f.all = append(f.all, measured{name, unit, samples, true})
}
