package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// relayMissingTopicSizes are the flags of the case relay-missing-topic.
type relayMissingTopicSizes struct {
	Waiting int
	Rate    int
	Seconds int
}

func relayMissingTopic() *comparison {
	s := &relayMissingTopicSizes{}
	return &comparison{
		name:  "relay-missing-topic",
		about: "how long rows of a topic wait while the other topic of their outbox does not exist",
		a:     "many rows wait for a topic that does not exist",
		b:     "no row waits, in another outbox of the same worker",
		named: true,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Waiting, "waiting", 100_000, "rows that wait for the missing topic")
			flags.IntVar(&s.Rate, "rate", 20, "rows of the other topic a second")
			flags.IntVar(&s.Seconds, "seconds", 75, "length of a round; a minute holds every change of the walk's activity")
		},
		open:  s.open,
		goals: []goal{{figure: "to Kafka p99", most: 1.2}},
	}
}

func (s *relayMissingTopicSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	in, err := stage.relaying(ctx, 4, "beside", "alone")
	if err != nil {
		return nil, nil, err
	}
	if _, err := in.fill(ctx, table("beside"), in.Topic("missing"), s.Waiting, 1000); err != nil {
		return nil, nil, err
	}
	sources := ""
	for _, side := range []string{"beside", "alone"} {
		sources += fmt.Sprintf(`
- { name: %s, dialect: order-service, table: %s, kafka: { topic: "{{.event_type}}", key: "{{.aggregate_id}}" },
    poll_interval: 100ms, people: false }
`, in.Topic(side), table(side))
	}
	write := func(side string) round {
		return func(ctx context.Context) (*figures, error) { return in.writePaced(ctx, side, s.Rate, s.Seconds) }
	}
	return write("beside"), write("alone"), in.relay(ctx, sources)
}

// writePaced commits rows one by one at the rate, and returns the times until they were marked.
func (in *installation) writePaced(ctx context.Context, side string, rate, seconds int) (*figures, error) {
	var ids []string
	err := pace(rate*seconds, rate, func(int) error {
		var id string
		err := in.DB.QueryRow(ctx, `
			INSERT INTO `+table(side)+` (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
			VALUES (gen_random_uuid(), 'Order', gen_random_uuid(), $1, '{}', 'NEW', timezone('UTC', now()))
			RETURNING id::text`, in.Topic(side)).Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = in.until(ctx, roundTime, "not all rows are sent", func() (bool, error) {
		pending, err := in.Count(ctx, "SELECT count(*) FROM "+table(side)+" WHERE status = 'NEW' AND event_type = $1", in.Topic(side))
		return pending == 0, err
	})
	if err != nil {
		return nil, err
	}
	rows, _ := in.DB.Query(ctx, `
		SELECT extract(epoch FROM sent_at - created_at)::float8 * 1000
		FROM   `+table(side)+`
		WHERE  id = ANY ($1::text[]::uuid[])
		AND    status = 'SENT'`, ids)
	times, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	if err == nil && len(times) != len(ids) {
		err = fmt.Errorf("%d rows are sent, of %d", len(times), len(ids))
	}
	f := &figures{}
	f.addSamples("to Kafka", "ms", times)
	return f, err
}
