package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// contender is one way to get rows from a table to a topic.
type contender struct {
	name, about string
	rows        int // of a round
	table       string
	topic       string
	send        func(ctx context.Context) error // sends rows until ctx ends; nil: the worker does
	Rates       []float64                       // rows/s, of the rounds that count

	in   *installation
	keys int
}

// newContenders makes the tables and topics, and starts what runs all the time.
func newContenders(ctx context.Context, in *installation, s relaySettings) ([]*contender, error) {
	all := []*contender{
		{name: "A", about: "Herald", rows: s.Rows, table: "bench.walk"},
		{name: "B", about: "plain loop", rows: s.Rows, table: "bench.loop"},
		{name: "C", about: "Herald, people told as well", rows: s.PeopleRows, table: "bench.walk_people"},
		{name: "D", about: "plain loop that inserts events as well", rows: s.PeopleRows, table: "bench.loop_people"},
	}
	if err := in.connectKafka(); err != nil {
		return nil, err
	}
	for _, c := range all {
		c.in, c.keys, c.topic = in, s.Keys, in.name+"-"+c.name
		if err := in.createTopic(ctx, c.topic, s.Partitions); err != nil {
			return nil, err
		}
		if err := in.createTable(ctx, c.table); err != nil {
			return nil, err
		}
	}
	a, c := all[0], all[2]
	for i, people := range map[int]bool{1: false, 3: true} {
		loop, err := newPlainLoop(in, all[i].table, all[i].topic, s.Batch, people)
		if err != nil {
			return nil, err
		}
		all[i].send = loop.run
	}
	return all, in.start(ctx, fmt.Sprintf(`
- { name: %s-topic, dialect: order-service, table: %s, kafka: { topic: %s, key: "{{.aggregate_id}}" }, poll_interval: 1s, batch_size: %d }
- { name: %s-people, dialect: order-service, table: %s, kafka: { topic: %s, key: "{{.aggregate_id}}" }, poll_interval: 1s, batch_size: %d, people: true }
`, in.name, a.table, a.topic, s.Batch, in.name, c.table, c.topic, s.Batch))
}

// roundTime bounds one round of one contender.
const roundTime = 10 * time.Minute

// round fills the table, waits until all rows are sent, and returns how many were a second.
func (c *contender) round(ctx context.Context) (rate float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	last, err := c.in.fill(ctx, c.table, c.rows, c.keys)
	if err != nil {
		return 0, err
	}
	sent := make(chan error, 1)
	sending, stop := context.WithCancel(ctx)
	go func() {
		if c.send == nil {
			sent <- nil
			return
		}
		sent <- c.send(sending)
	}()
	err = c.in.awaitSent(ctx, c.table, last)
	stop()
	if sendErr := <-sent; !errors.Is(sendErr, context.Canceled) {
		err = errors.Join(sendErr, err)
	}
	if err != nil {
		return 0, err
	}
	if rate, err = c.in.rate(ctx, c.table); err != nil {
		return 0, err
	}
	return rate, c.in.awaitStarted(ctx)
}

// verify compares how many records the topic has with how many rows were sent.
func (c *contender) verify(ctx context.Context, rounds int) error {
	records, err := c.in.records(ctx, c.topic)
	if err == nil && records != int64(rounds*c.rows) {
		err = fmt.Errorf("%s: the topic has %d records of %d rows", c.name, records, rounds*c.rows)
	}
	return err
}

// awaitStarted waits until the workflows of all events were started: they would slow down
// the next round.
func (in *installation) awaitStarted(ctx context.Context) error {
	for {
		pending, err := in.count(ctx, "SELECT count(*) FROM event_outbox WHERE status = 'PENDING' AND source <> 'loop'")
		if err != nil || pending == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
