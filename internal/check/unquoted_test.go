package check_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/check"
	"herald/internal/db/postgrestest"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/relay"
	"herald/internal/relay/kafka"
)

// kafkaWords are brokers with fixed answers.
type kafkaWords struct {
	err     error
	missing map[string]string
	copies  map[string]relay.TopicCopies
}

func (k kafkaWords) MissingTopics(context.Context, []string) (map[string]string, error) {
	return k.missing, k.err
}

func (k kafkaWords) TopicCopies(context.Context, []string) (map[string]relay.TopicCopies, error) {
	return k.copies, nil
}

// Programs get no words of a server: of a source's database, Kafka or RabbitMQ.
func TestUnquotedServers(t *testing.T) {
	t.Parallel()

	const address, private = "127.0.0.1:1", "zz-private"
	db, resting, vhost := postgrestest.New(t), postgrestest.New(t), rabbitmqtest.Shared(t).VHost(t)
	require.NoError(t, relay.On(resting).BackOffTopic(t.Context(), "orders",
		relay.TopicBackOff{Topic: "orders", Wait: time.Minute, Error: private}))
	unanswered := must(kafka.New(kafka.Settings{Brokers: []string{address}}))(t)
	t.Cleanup(func() { unanswered.Close(t.Context()) })
	stranger := must(url.Parse(vhost.URL))(t)
	stranger.User = url.UserPassword(private, private)
	must(vhost.Dial(t).QueueDeclare("notification.admin", false, false, false, false, nil))(t)
	hidden := map[string]relay.TopicCopies{"orders": {Refused: private}}
	source := relay.Source{
		Name: "orders", Dialect: relay.OrderService, Table: "orders.outbox",
		DatabaseURL: "postgres://" + private + "@" + address + "/orders",
	}
	for name, tt := range map[string]struct {
		subjects []check.Subject
		words    string // in the mistakes for people
	}{
		"dead source":     {check.Sources([]relay.Source{source}), private},
		"dead brokers":    {check.Topics(db, unanswered, toTopic("orders")), "connection refused"},
		"broken brokers":  {check.Topics(db, kafkaWords{err: errors.New(private)}, toTopic("orders")), private},
		"missing topic":   {check.Topics(db, kafkaWords{missing: map[string]string{"orders": private}}, toTopic("orders")), private},
		"resting topic":   {check.Topics(resting, nil, toTopic("orders")), private},
		"hidden settings": {check.Topics(db, kafkaWords{copies: hidden}, toTopic("orders")), private},
		"dead RabbitMQ":   {[]check.Subject{check.Broker(db, "amqp://"+private+"@"+address)}, "no connection"},
		"refused login":   {[]check.Subject{check.Broker(db, stranger.String())}, "username or password"},
		"other settings":  {[]check.Subject{check.Broker(db, vhost.URL)}, "inequivalent arg"},
	} {
		result := check.Run(t.Context(), tt.subjects)
		said := ""
		for _, found := range append(result.Mistakes, result.Advice...) {
			said += found.Problem
			shown := found.Unquoted()
			require.NotContains(t, shown.Where()+shown.Problem+shown.Remedy, tt.words, name)
			require.NotEmpty(t, shown.Remedy, name)
		}
		require.Contains(t, said, tt.words, name)
	}
}
