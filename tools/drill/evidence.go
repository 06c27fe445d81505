package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.temporal.io/api/workflowservice/v1"

	"herald/internal/notification"
)

// settled reports whether Herald has nothing left to do for the run, and else what is left.
func (s *stage) settled(ctx context.Context) (left string, err error) {
	var events, deliveries, receipts, records int
	err = s.db.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM drill.orders o LEFT JOIN processed_event p USING (event_id) WHERE p.status IS DISTINCT FROM 'SUCCESS' AND p.status IS DISTINCT FROM 'FAILED'),
		       (SELECT count(*) FROM notification WHERE status = 'PENDING'),
		       (SELECT count(*) FROM notification WHERE status = 'SENT' AND channel = 'EMAIL')`).Scan(&events, &deliveries, &receipts)
	if err == nil && len(s.brokers) > 0 {
		err = s.db.QueryRow(ctx, "SELECT count(*) FROM lifecycle_event WHERE NOT sent").Scan(&records)
	}
	if err != nil {
		return "", err
	}
	open, err := s.open(ctx)
	if err != nil || events+deliveries+receipts+records+len(open) == 0 {
		return "", err
	}
	return fmt.Sprintf("%d events, %d deliveries, %d receipts, %d records for Kafka, %d workflows", events, deliveries, receipts, records, len(open)), nil
}

// open returns the ids of the open workflows of the run's events.
func (s *stage) open(ctx context.Context) (ids []string, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '%s'", s.events())}
	for {
		answer, err := s.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, execution := range answer.GetExecutions() {
			ids = append(ids, execution.GetExecution().GetWorkflowId())
		}
		if request.NextPageToken = answer.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return ids, nil
		}
	}
}

// events returns the prefix of the ids of events. The pollers' ids begin otherwise.
func (s *stage) events() string { return s.name + "-e" }

// gather reads the evidence. The load has ended.
func (s *stage) gather(ctx context.Context, load *load) (e evidence, err error) {
	committed := map[string]bool{}
	if err := s.each(ctx, "SELECT event_id FROM drill.orders", func(row pgx.CollectableRow) error {
		var id string
		err := row.Scan(&id)
		committed[id] = true
		return err
	}); err != nil {
		return e, err
	}
	e.Events = load.settle(committed)
	var errs [5]error
	e.Accepted, errs[0] = s.readLedger()
	e.Tables, errs[1] = s.readTables(ctx)
	e.Open, errs[2] = s.open(ctx)
	e.Published, errs[3] = s.readQueue()
	if len(s.brokers) > 0 {
		e.Topic, errs[4] = s.readTopic(ctx)
	}
	return e, errors.Join(errs[:]...)
}

func (s *stage) each(ctx context.Context, sql string, do func(pgx.CollectableRow) error) error {
	rows, err := s.db.Query(ctx, sql)
	if err != nil {
		return err
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, do(row) })
	return err
}

func (s *stage) readTables(ctx context.Context) (tables, error) {
	t := tables{Events: map[string]eventRow{}, Deliveries: map[string]deliveryRow{}}
	err := s.each(ctx, `
		SELECT o.event_id, o.status, coalesce(p.status, ''), coalesce(p.outcome, '')
		FROM   event_outbox o
		LEFT JOIN processed_event p USING (event_id)`, func(row pgx.CollectableRow) error {
		var id string
		var e eventRow
		err := row.Scan(&id, &e.Outbox, &e.Processed, &e.Outcome)
		t.Events[id] = e
		return err
	})
	if err != nil {
		return t, err
	}
	return t, s.each(ctx, `
		SELECT n.delivery_id, n.status, a.calls, a.again
		FROM   notification n,
		LATERAL (
			SELECT count(*) FILTER (WHERE outcome IN ('SENT', 'LOST', 'AMBIGUOUS')) AS calls,
			       count(*) FILTER (WHERE EXISTS (SELECT FROM delivery_attempt b WHERE b.delivery_id = a.delivery_id AND b.outcome = 'SENT' AND b.ended_at < a.started_at)) AS again
			FROM   delivery_attempt a
			WHERE  a.delivery_id = n.delivery_id
		) a`, func(row pgx.CollectableRow) error {
		var id string
		var d deliveryRow
		err := row.Scan(&id, &d.Status, &d.Calls, &d.Again)
		t.Deliveries[id] = d
		return err
	})
}

// attempts returns the number of attempts by outcome.
func (s *stage) attempts(ctx context.Context) (map[notification.AttemptOutcome]int, error) {
	counts := map[notification.AttemptOutcome]int{}
	return counts, s.each(ctx, "SELECT coalesce(outcome, 'OPEN'), count(*) FROM delivery_attempt GROUP BY 1", func(row pgx.CollectableRow) error {
		var outcome notification.AttemptOutcome
		var n int
		err := row.Scan(&outcome, &n)
		counts[outcome] = n
		return err
	})
}

// queue gets the message of every event.
const queue = "drill"

func (s *stage) inVHost(do func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(s.vhost)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	return do(channel)
}

func (s *stage) bindQueue() error {
	return s.inVHost(func(channel *amqp.Channel) error {
		const exchange = "notifications.exchange"
		if err := channel.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return err
		}
		return channel.QueueBind(queue, "#", exchange, false, nil)
	})
}

// readQueue empties the queue, and returns the ids of the events.
func (s *stage) readQueue() (map[string]bool, error) {
	ids := map[string]bool{}
	return ids, s.inVHost(func(channel *amqp.Channel) error {
		for {
			message, found, err := channel.Get(queue, true)
			if err != nil || !found {
				return err
			}
			ids[message.MessageId] = true
		}
	})
}

func (s *stage) topic() string { return s.name + "-lifecycle" }

func (s *stage) createTopic(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = s.topic(), 1, -1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, created := range response.Topics {
		err = errors.Join(err, kerr.ErrorForCode(created.ErrorCode))
	}
	s.data.AtEnd(s.deleteTopic)
	return err
}

func (s *stage) deleteTopic(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	request := kmsg.NewPtrDeleteTopicsRequest()
	name := s.topic()
	deleted := kmsg.NewDeleteTopicsRequestTopic()
	deleted.Topic = &name
	request.Topics, request.TopicNames = append(request.Topics, deleted), []string{name}
	_, err = request.RequestWith(ctx, client)
	return err
}

// topicTime limits the reading of the topic.
const topicTime = 30 * time.Second

// readTopic returns the ids of the deliveries that the topic reports as sent. It reads until it has
// each row that Herald has marked as sent.
func (s *stage) readTopic(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	var rows int
	if err := s.db.QueryRow(ctx, "SELECT count(*) FROM lifecycle_event WHERE sent").Scan(&rows); err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(s.topic()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	seen, sent := map[string]bool{}, map[string]bool{}
	for len(seen) < rows && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			var body struct {
				Type string `json:"type"`
				Data struct {
					DeliveryID string `json:"delivery_id"`
				} `json:"data"`
			}
			_ = json.Unmarshal(record.Value, &body) // the record then counts for no delivery
			for _, header := range record.Headers {
				if header.Key == "event_id" {
					seen[string(header.Value)] = true
				}
			}
			if body.Type == "delivery.sent" || body.Type == "delivery.delivered" {
				sent[body.Data.DeliveryID] = true
			}
		})
	}
	return sent, nil
}
