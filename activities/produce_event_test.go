package activities_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/kafka"
	"herald/internal/kafka/kafkatest"
	"herald/internal/notification"
)

// producing is a service, and a broker with the topic that its events go to.
type producing struct {
	*service
	cluster *kafkatest.Cluster
	acts    *activities.Activities
}

func newProducing(t *testing.T, s *service, topics map[string]map[string]string) producing {
	t.Helper()
	cluster := kafkatest.NewCluster(t)
	for topic, settings := range topics {
		kafkatest.CreateTopic(t, cluster.Address, topic, settings)
	}
	producer, err := kafka.New(kafka.Settings{Brokers: []string{cluster.Address}, ClientID: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { producer.Close(t.Context()) })
	return producing{s, cluster, &activities.Activities{Events: s.herald, Sinks: s.herald, Sources: map[string]activities.Source{
		s.config.Name: {Config: s.config, Table: s.table, Topics: producer},
	}}}
}

// adopt makes the pending rows events whose workflows were started.
func (p producing) adopt(t *testing.T, n int) {
	t.Helper()
	poller := p.poll(t, &launcher{})
	await(t, p.herald, n, "status = 'PROCESSED'")
	poller.stop(t)
}

func (p producing) produce(eventID string, policy activities.TopicPolicy) (activities.ProduceEventResult, error) {
	return run[activities.ProduceEventResult](p.acts, p.acts.ProduceEvent, activities.ProduceEventInput{EventID: eventID, Source: p.config.Name, Policy: policy})
}

var twice = activities.TopicPolicy{Retries: 2, RetryInterval: 100 * time.Millisecond}

func headers(record *kgo.Record) map[string]string {
	found := map[string]string{}
	for _, header := range record.Headers {
		found[header.Key] = string(header.Value)
	}
	return found
}

// The topic gets the payload byte for byte, and the tables are marked after that. A repeat
// of the activity sends nothing again.
func TestProduceEvent(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), map[string]map[string]string{"order-events": nil})
	p.orders(t, 1, 1)
	p.adopt(t, 1)
	for range 2 {
		result, err := p.produce(orderID(1), twice)
		require.NoError(t, err)
		require.True(t, result.Marked)
	}
	records := kafkatest.Records(t, p.cluster.Address, "order-events", 1)
	require.Len(t, records, 1)
	require.Equal(t, "{ \"order\": 1 }", string(records[0].Value))
	require.Equal(t, "00000000-0000-4000-8000-000000000099", string(records[0].Key))
	require.Equal(t, map[string]string{
		"event_id": orderID(1), "event_type": "OrderCreated", "aggregate_type": "Order", "aggregate_id": "00000000-0000-4000-8000-000000000099",
		"source": "orders", "content-type": "application/json",
	}, headers(records[0]))
	require.Equal(t, 1, p.rows(t, "status = 'SENT' AND sent_at IS NOT NULL"))
	require.Equal(t, 1, events(t, p.herald, "acknowledged_at IS NOT NULL AND status = 'PROCESSED'"))
}

// A crash between acknowledgement and mark repeats the record once, with the same event_id.
func TestProduceEventAfterACrash(t *testing.T) {
	t.Parallel()

	p := newProducing(t, walletHub(t), map[string]map[string]string{"FundsAdded-out-0": nil})
	exec(t, p.business, `INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', 'no JSON')`)
	p.adopt(t, 1)
	_, err := p.produce("wallet-1", twice)
	require.NoError(t, err)
	exec(t, p.herald, "UPDATE event_outbox SET acknowledged_at = NULL") // the process ended before
	exec(t, p.business, "UPDATE outbox SET sent = false")
	_, err = p.produce("wallet-1", twice)
	require.NoError(t, err)

	records := kafkatest.Records(t, p.cluster.Address, "FundsAdded-out-0", 2)
	require.Len(t, records, 2)
	for _, record := range records {
		require.Equal(t, "wallet-1", headers(record)["event_id"])
		require.Equal(t, "no JSON", string(record.Value))
	}
	require.Equal(t, 1, p.rows(t, "sent"))
}

// A broker that is down is waited for, uses up nothing, and fails nothing.
func TestProduceEventWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), map[string]map[string]string{"order-events": nil})
	p.orders(t, 1, 1)
	p.adopt(t, 1)
	p.cluster.Stop()
	_, err := p.produce(orderID(1), activities.TopicPolicy{})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.False(t, application.NonRetryable())
	require.Equal(t, temporal.ApplicationErrorCategoryBenign, application.Category(), "a thousand events may say so")
	require.Equal(t, 1, events(t, p.herald, "sink_attempts = 0 AND status = 'PROCESSED' AND acknowledged_at IS NULL"))
	require.Equal(t, 1, p.rows(t, "status = 'NEW'"))

	p.cluster.Start(t)
	_, err = p.produce(orderID(1), activities.TopicPolicy{})
	require.NoError(t, err)
	require.Len(t, kafkatest.Records(t, p.cluster.Address, "order-events", 1), 1)
}

// A topic that does not exist uses up retries, at growing intervals; then the event and its
// row are FAILED. An operator, or its service, begins it again.
func TestProduceEventWithoutATopic(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), nil)
	p.orders(t, 1, 1)
	p.adopt(t, 1)
	for _, delay := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond} {
		_, err := p.produce(orderID(1), twice)
		requireFailure(t, err, activities.SinkRefused, false, delay)
		require.Equal(t, 1, p.rows(t, "status = 'NEW'"))
	}
	for range 2 { // a repeat of an activity that could not say so
		_, err := p.produce(orderID(1), twice)
		requireFailure(t, err, activities.SinkRefused, true, 0)
		require.Equal(t, 1, p.rows(t, "status = 'FAILED' AND error_message ~ 'order-events'"))
		require.Equal(t, 1, events(t, p.herald, "status = 'FAILED' AND published_at IS NULL AND sink_attempts = 3 AND error_message ~ 'order-events'"))
	}

	kafkatest.CreateTopic(t, p.cluster.Address, "order-events", nil)
	exec(t, p.herald, "UPDATE processed_event SET status = 'FAILED', updated_at = now() - interval '1 minute'") // the workflow has ended
	exec(t, p.business, "UPDATE outbox SET status = 'NEW'")
	p.adopt(t, 1)
	_, err := p.produce(orderID(1), twice)
	require.NoError(t, err)
	require.Equal(t, 1, p.rows(t, "status = 'SENT' AND error_message IS NULL"))
}

// A source that gives nothing up asks again for ever, every five minutes at most.
func TestProduceEventForever(t *testing.T) {
	t.Parallel()

	p := newProducing(t, walletHub(t), nil)
	exec(t, p.business, `INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', '{}')`)
	p.adopt(t, 1)
	exec(t, p.herald, "UPDATE event_outbox SET sink_attempts = 1000000")
	_, err := p.produce("wallet-1", activities.TopicPolicy{Retries: notification.RetryForever, RetryInterval: 100 * time.Millisecond})
	requireFailure(t, err, activities.SinkRefused, false, 5*time.Minute)
}

// What no attempt can change fails at once, whatever the retries are.
func TestProduceEventThatIsNeverTaken(t *testing.T) {
	t.Parallel()

	forever := activities.TopicPolicy{Retries: notification.RetryForever, RetryInterval: time.Second}
	tests := []struct {
		name   string
		change string // of the row, after it was adopted
		says   string
	}{
		{"too large", "UPDATE outbox SET payload = (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 200) AS n)", kerr.MessageTooLarge.Message},
		{"no name for a topic", "UPDATE outbox SET event_type = 'Funds added'", "topic"},
		{"its row is gone", "DELETE FROM outbox", "row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			p := newProducing(t, walletHub(t), map[string]map[string]string{"FundsAdded-out-0": {"max.message.bytes": "1000"}})
			exec(t, p.business, `INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', '{}')`)
			p.adopt(t, 1)
			exec(t, p.business, tt.change)
			_, err := p.produce("wallet-1", forever)
			requireFailure(t, err, activities.SinkRefused, true, 0)
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, 1, events(t, p.herald, "status = 'FAILED' AND sink_attempts = 1"))
			require.Zero(t, p.rows(t, "sent"))
		})
	}
}

// topicsAndThen are topics after which something happens, before anybody hears of it.
type topicsAndThen struct {
	activities.Topics
	then func()
}

func (t topicsAndThen) Produce(ctx context.Context, record notification.Record) error {
	defer t.then()
	return t.Topics.Produce(ctx, record)
}

// Once the topic has the event, a database that is away costs no second record: the
// activity ends well, and another makes the marks.
func TestProduceEventWithoutADatabase(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), map[string]map[string]string{"order-events": nil})
	p.orders(t, 1, 1)
	p.adopt(t, 1)
	source := p.acts.Sources["orders"]
	source.Topics = topicsAndThen{source.Topics, func() { exec(t, p.herald, "ALTER TABLE event_outbox RENAME TO away") }}
	p.acts.Sources["orders"] = source
	result, err := p.produce(orderID(1), twice)
	require.NoError(t, err)
	require.False(t, result.Marked)

	mark := activities.MarkProducedInput{EventID: orderID(1), Source: "orders"}
	_, err = run[any](p.acts, p.acts.MarkProduced, mark)
	require.Error(t, err)
	exec(t, p.herald, "ALTER TABLE away RENAME TO event_outbox")
	_, err = run[any](p.acts, p.acts.MarkProduced, mark)
	require.NoError(t, err)
	require.Equal(t, 1, p.rows(t, "status = 'SENT'"))
	require.Equal(t, 1, events(t, p.herald, "acknowledged_at IS NOT NULL"))
	require.Len(t, kafkatest.Records(t, p.cluster.Address, "order-events", 1), 1)
}

// Herald's own events go to a topic as well, when they have one.
func TestProduceEventOfHeralds(t *testing.T) {
	t.Parallel()

	p := newProducing(t, orderService(t), map[string]map[string]string{"notices": nil})
	source := p.acts.Sources["orders"]
	source.Table, source.Config = nil, notification.SourceConfig{Name: "herald", Kafka: &notification.KafkaRoute{Topic: "notices"}}
	p.acts.Sources["herald"] = source
	emit(t, p.herald, 1, 1)
	result, err := run[activities.ProduceEventResult](p.acts, p.acts.ProduceEvent, activities.ProduceEventInput{EventID: "evt-1", Source: "herald", Policy: twice})
	require.NoError(t, err)
	require.True(t, result.Marked)
	records := kafkatest.Records(t, p.cluster.Address, "notices", 1)
	require.Equal(t, "evt-1", headers(records[0])["event_id"])
	require.JSONEq(t, "{}", string(records[0].Value))
}

// Events wait for a worker that knows their source and has a broker.
func TestProduceEventOnAnotherWorker(t *testing.T) {
	t.Parallel()

	a := &activities.Activities{Sources: map[string]activities.Source{"orders": {}}}
	for _, name := range []string{"orders", "wallet"} {
		_, err := run[activities.ProduceEventResult](a, a.ProduceEvent, activities.ProduceEventInput{EventID: "evt-1", Source: name})
		require.ErrorContains(t, err, "KAFKA_BROKERS")
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.False(t, application.NonRetryable())
	}
}

// ordered keeps which events were ordered to be sent to their topic again.
type ordered struct {
	mu  sync.Mutex
	ids []string
}

func (o *ordered) RetryTopic(_ context.Context, eventID string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = append(o.ids, eventID)
	return nil
}

func (o *ordered) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ids)
}

// An event that its topic has refused while people are still told of it: its service sets the
// row back, and the poller orders its workflow once to send it again. Nothing is changed
// before the workflow does.
func TestReopenAtTopic(t *testing.T) {
	t.Parallel()

	orders := &ordered{}
	s := orderService(t)
	s.outbox.Topics = orders
	p := newProducing(t, s, nil)
	p.orders(t, 1, 1)
	p.adopt(t, 1)
	_, err := p.produce(orderID(1), activities.TopicPolicy{})
	require.ErrorContains(t, err, "UNKNOWN_TOPIC")
	p.awaitRows(t, 1, "status = 'FAILED'")

	exec(t, p.business, "UPDATE outbox SET status = 'NEW'")
	poller := p.poll(t, &launcher{})
	require.Eventually(t, func() bool { return orders.count() == 1 }, patience, 5*time.Millisecond)
	p.orders(t, 2, 2)
	await(t, p.herald, 1, "status = 'PROCESSED' AND event_id = '"+orderID(2)+"'") // a later walk has seen the row, too
	poller.stop(t)
	require.Equal(t, []string{orderID(1)}, orders.ids)
	require.Equal(t, 1, events(t, p.herald, "status = 'FAILED' AND sink_attempts = 1"))

	exec(t, p.business, "UPDATE outbox SET status = 'FAILED', error_message = 'x' WHERE id = $1", orderID(1)) // as it is where an operator orders it
	kafkatest.CreateTopic(t, p.cluster.Address, "order-events", nil)
	for range 2 { // a repeat does no harm
		_, err = run[any](p.acts, p.acts.ReopenAtTopic, activities.ReopenAtTopicInput{EventID: orderID(1), Source: "orders"})
		require.NoError(t, err)
	}
	require.Equal(t, 1, p.rows(t, "status = 'NEW' AND error_message IS NULL AND id = '"+orderID(1)+"'"))
	_, err = p.produce(orderID(1), twice)
	require.NoError(t, err)
	require.Equal(t, 1, p.rows(t, "status = 'SENT'"))
	require.Equal(t, 1, events(t, p.herald, "status = 'PROCESSED' AND acknowledged_at IS NOT NULL"))
}
