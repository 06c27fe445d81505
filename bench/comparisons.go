package main

import (
	"context"
	"flag"
	"time"
)

// comparisons are the cases of the table, in the order in which they run. Each is a function in
// a file of its own, which has:
//
//   - flags: its sizes, with the defaults of the published table. They stand behind its name.
//   - open: prepares both sides, mostly by s.herald, and returns what runs a round of each.
//     What it made is removed by s.atEnd and, of an installation, by the frame.
//   - goals: which figures of A are to reach what, beside those of B.
//
// The frame runs the rounds in turn (A B A B …, the first pairs as a warm-up), prints progress,
// and makes medians, spreads and ratios of what the rounds return. A round leaves nothing running
// that the next would feel. The whole table takes 15 minutes at most: choose sizes for it.
func comparisons() []*comparison {
	return []*comparison{
		deliveries(),
		relay(),
		latency(),
		claim(),
		producers(),
		broadcast(),
		beside(),
		million(),
	}
}

// comparison is a case of the table: A, which is Herald, in turn with B, which is what it is
// compared with.
type comparison struct {
	name  string
	about string // for people who choose
	a, b  string // what each side does
	named bool   // it runs only where it is named
	pairs int    // that count; 0: as many as the table has
	large int    // how much of the table's time it has, beside others with 1; 0: 1
	limit time.Duration

	sizes any // goes into the JSON file
	flags func(flags *flag.FlagSet)
	open  func(ctx context.Context, s *stage) (a, b round, err error)
	goals []goal
}

// round runs one round of one side, and returns its figures. Both sides name theirs alike where
// they are to be compared.
type round func(ctx context.Context) (*figures, error)

// figures are what one round found, in the order in which they are printed.
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
