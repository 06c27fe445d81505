package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"herald/internal/relay/dialects/dialecttest"
	"herald/tools/rig"
)

// relayRounds runs the rounds of the cases relay-to-kafka and relay-to-kafka-people. Each side has
// its table and its topic.
type relayRounds struct {
	*installation

	Rows       int
	Keys       int
	Batch      int
	Partitions int
	people     bool

	loop *plainLoop
}

func relayToKafka() *comparison {
	return newRelayToKafka("relay-to-kafka", &relayRounds{Rows: 20_000})
}

func relayToKafkaAndPeople() *comparison {
	return newRelayToKafka("relay-to-kafka-people", &relayRounds{Rows: 5000, people: true})
}

func newRelayToKafka(name string, s *relayRounds) *comparison {
	inserting := ""
	if s.people {
		inserting = ", and inserts each row into event_outbox first"
	}
	return &comparison{
		name:  name,
		about: "rows from an outbox of the order service to a topic" + inserting,
		a:     "Herald" + inserting + "; counted from the first mark to the last",
		b:     "a plain loop: selects pending rows, produces them, waits for all and marks them" + inserting,
		named: true,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Rows, "rows", s.Rows, "rows of a round")
			flags.IntVar(&s.Keys, "keys", 1000, "different keys of these rows")
			flags.IntVar(&s.Batch, "batch", 500, "rows of a page")
			flags.IntVar(&s.Partitions, "partitions", 4, "partitions of each topic")
		},
		open:  s.open,
		goals: []goal{{figure: "rows", least: 0.9}},
	}
}

func (s *relayRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Rows <= s.Batch {
		return nil, nil, errors.New("there must be more rows than a page has")
	}
	r := *s
	if r.installation, err = stage.relaying(ctx, s.Partitions, "herald", "loop"); err != nil {
		return nil, nil, err
	}
	r.loop = &plainLoop{installation: r.installation, table: table("loop"), topic: r.Topic("loop"), batch: s.Batch, people: s.people}
	return r.a, r.b, r.relay(ctx, fmt.Sprintf(`
- { name: %s, dialect: order-service, table: %s, kafka: { topic: %s, key: "{{.aggregate_id}}" },
    poll_interval: 1s, batch_size: %d, people: %t }
`, r.Name, table("herald"), r.Topic("herald"), s.Batch, s.people))
}

// table returns the outbox of a side.
func table(side string) string { return "bench." + side }

// relaying returns an installation with a table and a topic for each side. It starts no worker.
func (s *stage) relaying(ctx context.Context, partitions int, sides ...string) (in *installation, err error) {
	if in, err = s.install(ctx); err != nil {
		return nil, err
	}
	if in.kafka, err = rig.DialKafka(); err != nil {
		return nil, err
	}
	in.Running.AtEnd(func(context.Context) error { in.kafka.Close(); return nil })
	if _, err := in.DB.Exec(ctx, "CREATE SCHEMA bench"); err != nil {
		return nil, err
	}
	for _, side := range sides {
		err := in.Data.CreateTopic(ctx, in.Topic(side), partitions)
		if err == nil {
			_, err = in.DB.Exec(ctx, strings.ReplaceAll(dialecttest.Orders("{table}")+`
				CREATE INDEX ON {table} (status, created_at);
				CREATE INDEX ON {table} (aggregate_id)`, "{table}", table(side)))
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// relay starts a worker for events, and the pollers of the sources.
func (in *installation) relay(ctx context.Context, sources string) error {
	if err := in.Sources(sources); err != nil {
		return err
	}
	return in.start(ctx, "--events")
}

func (r *relayRounds) a(ctx context.Context) (*figures, error) {
	return r.round(ctx, "herald", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
}

func (r *relayRounds) b(ctx context.Context) (*figures, error) {
	return r.round(ctx, "loop", r.loop.run)
}

// round fills a side's table and waits until all rows are in its topic.
func (r *relayRounds) round(ctx context.Context, side string, send func(context.Context) error) (*figures, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	before, err := r.records(ctx, r.Topic(side))
	if err != nil {
		return nil, err
	}
	last, err := r.fill(ctx, table(side), "OrderCreated", r.Rows, r.Keys)
	if err != nil {
		return nil, err
	}
	sending, stop := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- send(sending) }()
	err = r.awaitRelayed(ctx, table(side), last)
	stop()
	if sendErr := <-sent; !errors.Is(sendErr, context.Canceled) {
		err = errors.Join(sendErr, err)
	}
	if err != nil {
		return nil, err
	}
	rate, err := r.rate(ctx, table(side))
	if err != nil {
		return nil, err
	}
	after, err := r.records(ctx, r.Topic(side))
	if err == nil && after-before != int64(r.Rows) {
		err = fmt.Errorf("the topic got %d records of %d rows", after-before, r.Rows)
	}
	f := &figures{}
	f.add("rows", "per second", rate)
	return f, errors.Join(err, r.awaitStarted(ctx))
}

// awaitStarted waits until the workflows of all events are started. Starts during the next round
// would slow it down.
func (in *installation) awaitStarted(ctx context.Context) error {
	return in.until(ctx, roundTime, "not all events start", func() (bool, error) {
		pending, err := in.Count(ctx, "SELECT count(*) FROM event_outbox WHERE status = 'PENDING' AND source <> 'loop'")
		return pending == 0, err
	})
}

// records returns the number of records in a topic.
func (in *installation) records(ctx context.Context, topic string) (count int64, err error) {
	ends, err := kadm.NewClient(in.kafka).ListEndOffsets(ctx, topic)
	ends.Each(func(end kadm.ListedOffset) { count += end.Offset })
	return count, errors.Join(err, ends.Error())
}
