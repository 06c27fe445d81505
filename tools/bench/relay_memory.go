package main

import (
	"context"
	"flag"
	"fmt"
)

// relayMemorySizes are the flags of the case relay-memory.
type relayMemorySizes struct {
	Rows  int
	Other int
}

func relayMemory() *comparison {
	s := &relayMemorySizes{}
	return &comparison{
		name:  "relay-memory",
		about: "memory of a worker that relays a large backlog to Kafka, and a small one",
		a:     "a backlog of a million rows",
		b:     "a backlog of a thousand rows, in another process",
		named: true, // it takes long
		pairs: 1,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Rows, "rows", 1_000_000, "pending rows of A")
			flags.IntVar(&s.Other, "other-rows", 1000, "pending rows of B")
		},
		open:  s.open,
		goals: []goal{{figure: "peak memory of the worker", most: 1.2}},
	}
}

func (s *relayMemorySizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	var rounds [2]round
	for i, rows := range []int{s.Rows, s.Other} {
		in, err := stage.relaying(ctx, 4, "herald")
		if err != nil {
			return nil, nil, err
		}
		err = in.relay(ctx, fmt.Sprintf(`
- { name: %s, dialect: order-service, table: %s, kafka: { topic: %s, key: "{{.aggregate_id}}" }, people: false }
`, in.Name, table("herald"), in.Topic("herald")))
		if err != nil {
			return nil, nil, err
		}
		rounds[i] = func(ctx context.Context) (*figures, error) { return in.drain(ctx, rows) }
	}
	return rounds[0], rounds[1], nil
}

// drain fills the table, and measures the worker until it has sent the last row.
func (in *installation) drain(ctx context.Context, rows int) (*figures, error) {
	m := newMeter(ctx, in.DB, in.worker.PID())
	m.begin()
	last, err := in.fill(ctx, table("herald"), "OrderCreated", rows, 1000)
	if err == nil {
		err = in.awaitRelayed(ctx, table("herald"), last)
	}
	f := &figures{}
	m.end(f, "row", rows)
	return f, err
}
