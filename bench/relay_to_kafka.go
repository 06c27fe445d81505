package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// relaySettings are the flags of the case relay-to-kafka.
type relaySettings struct {
	Rows       int `json:"rows"`
	PeopleRows int `json:"people_rows"`
	Keys       int `json:"keys"`
	Batch      int `json:"batch"`
	Partitions int `json:"partitions"`
	Rounds     int `json:"rounds"`
	WarmUp     int `json:"warm_up"`
}

const relayHelp = `relay-to-kafka: how fast do the rows of an outbox get to a topic?

  A  Herald: the worker, its poller's workflow and activity
  B  the plainest loop: select the pending rows, produce them, wait for all, mark them
  C  Herald with "people: true", up to the insert into event_outbox; it starts their workflows meanwhile
  D  the loop of B, which inserts the rows into event_outbox first

Each has a table of its own, in the form of the order service, in one database, and a topic
of its own at one broker. In each round the four run one after another. A row counts
from the first mark of a round to the last, so that finding the first rows is left out, for
all of them. B and D send the same keys, headers and payloads, with acks from all replicas.

  make bench ARGS=relay-to-kafka
  make bench ARGS='relay-to-kafka --keys 1'            all rows have one key
  make bench ARGS='relay-to-kafka --rows 5000 --rounds 3'

flags:
`

func relayToKafka(ctx context.Context, args []string, out io.Writer) error {
	var s relaySettings
	flags := flag.NewFlagSet("relay-to-kafka", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.Rows, "rows", 20_000, "rows of a round, for A and B")
	flags.IntVar(&s.PeopleRows, "people-rows", 5000, "rows of a round, for C and D")
	flags.IntVar(&s.Keys, "keys", 1000, "how many keys the rows have, in turn")
	flags.IntVar(&s.Batch, "batch", 500, "rows at once")
	flags.IntVar(&s.Partitions, "partitions", 4, "partitions of each topic")
	flags.IntVar(&s.Rounds, "rounds", 5, "rounds that count")
	flags.IntVar(&s.WarmUp, "warm-up", 1, "rounds before those")
	file := flags.String("json", "bench/relay-to-kafka.json", "`file` that gets the figures")
	flags.Usage = func() {
		fmt.Fprint(out, relayHelp)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.Rows <= s.Batch || s.PeopleRows <= s.Batch || s.Keys < 1 || s.Batch < 1 || s.Batch > 1000 || s.Partitions < 1 || s.Rounds < 1 || s.WarmUp < 0 || flags.NArg() > 0 {
		return errors.New("there must be more rows than --batch, which is 1000 at most, also for C and D, and at least one key, one partition and one round")
	}
	return benchRelay(ctx, s, *file, out)
}

// benchRelay sets everything up, runs all rounds, and removes what it made.
func benchRelay(ctx context.Context, s relaySettings, file string, out io.Writer) (err error) {
	say := func(format string, args ...any) {
		fmt.Fprintf(out, time.Now().Format("15:04:05 ")+format+"\n", args...)
	}
	say("building the worker and starter, and making a database, a vhost and topics")
	in, err := newInstallation(ctx, "")
	if err != nil {
		return err
	}
	defer func() {
		say("removing what was made")
		err = errors.Join(err, in.remove())
	}()
	all, err := newContenders(ctx, in, s)
	if err != nil {
		return err
	}
	for round := 1 - s.WarmUp; round <= s.Rounds; round++ {
		for _, c := range all {
			rate, err := c.round(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			what := fmt.Sprintf("round %d of %d", round, s.Rounds)
			if round < 1 {
				what = "warm-up"
			} else {
				c.Rates = append(c.Rates, rate)
			}
			say("%s: %s %8.0f rows/s", what, c.name, rate)
		}
	}
	for _, c := range all {
		if err := c.verify(ctx, s.Rounds+s.WarmUp); err != nil {
			return err
		}
	}
	r, err := newReport(ctx, in, s, all)
	if err != nil {
		return err
	}
	r.print(out)
	return r.save(file, out)
}
