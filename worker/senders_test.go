package main

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/wiring"
)

// workerEnvironment returns the required settings of a worker, with changes.
func workerEnvironment(changes map[string]string) map[string]string {
	values := map[string]string{"DATABASE_URL": "postgres://herald@localhost/herald", "RABBITMQ_URL": "amqp://guest:guest@localhost:5672/"}
	maps.Copy(values, changes)
	return values
}

// A channel has no sender if it has no credentials, or if this worker does not serve it.
func TestSenders(t *testing.T) {
	t.Parallel()

	wired := wiring.New()
	cfg, err := config.From(workerEnvironment(map[string]string{"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "http://localhost:9090/v1"}),
		wired.Read)
	require.NoError(t, err)
	senders, off, err := newSenders(wired, cfg, nil, nil, nil,
		[]notification.Channel{notification.WebSocket, notification.Email, notification.Push})
	require.NoError(t, err)
	require.Contains(t, senders, notification.WebSocket)
	require.Contains(t, senders, notification.Push)
	require.Len(t, senders, 2)
	require.Len(t, off, 1)
	require.ErrorContains(t, off[notification.Email], "SENDGRID_API_KEY, EMAIL_FROM")
}

// After the maximum number of concurrent sends to a provider, later sends reuse the open
// connections.
func TestConnectionsToAProviderAreKept(t *testing.T) {
	t.Parallel()

	const most = slots + activities.FirstAttempts + activities.BatchSends
	var opened atomic.Int64
	var all sync.WaitGroup
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		all.Done()
		all.Wait() // all sends overlap, so each needs a separate connection
		w.WriteHeader(http.StatusAccepted)
	}))
	provider.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	provider.Start()
	t.Cleanup(provider.Close)
	wired := wiring.New()
	cfg, err := config.From(workerEnvironment(map[string]string{
		"SENDGRID_API_KEY": "SG.test", "EMAIL_FROM": "herald@example.com", "SENDGRID_BASE_URL": provider.URL, "EMAIL_TIMEOUT": "1m",
	}), wired.Read)
	require.NoError(t, err)
	senders, _, err := newSenders(wired, cfg, nil, nil, nil, []notification.Channel{notification.Email})
	require.NoError(t, err)

	for range 2 {
		all.Add(most)
		var sends errgroup.Group
		for range most {
			sends.Go(func() error {
				_, err := senders[notification.Email].Send(t.Context(),
					notification.Message{DeliveryID: "d-1", To: "ada@example.com", Title: "title", Body: "body"})
				return err
			})
		}
		require.NoError(t, sends.Wait())
	}

	require.EqualValues(t, most, opened.Load())
}

// oldServer is a Temporal server without Worker Versioning.
type oldServer struct {
	workflowservice.WorkflowServiceClient
}

func (oldServer) DescribeWorkerDeployment(
	context.Context, *workflowservice.DescribeWorkerDeploymentRequest, ...grpc.CallOption,
) (*workflowservice.DescribeWorkerDeploymentResponse, error) {
	return nil, serviceerror.NewUnimplemented("unknown method DescribeWorkerDeployment")
}

// With a server without Worker Versioning, the worker fails at once: it would get no tasks.
func TestOldServer(t *testing.T) {
	t.Parallel()

	server := mocks.NewClient(t)
	server.On("WorkflowService").Return(oldServer{})
	w := &workers{operator: &operate.Operator{Launcher: &launch.Launcher{Client: server, Prefix: "herald"}}}
	require.ErrorContains(t, w.requireVersioning(t.Context()), "Herald needs a server of 1.28 or later")
}

// A worker needs Kafka only if a source has a topic. KAFKA_BROKERS alone does not matter.
func TestConnectTopics(t *testing.T) {
	t.Parallel()

	brokers := []string{"localhost:1"}
	people := relay.Source{Name: notification.HeraldSource, People: true}
	topic := relay.Source{Name: "orders", Kafka: &relay.KafkaRoute{Topic: "orders"}}
	tests := []struct {
		name      string
		brokers   []string
		sources   []relay.Source
		part      part
		connected bool
	}{
		{"a source has a topic", brokers, []relay.Source{people, topic}, part{events: true}, true},
		{"no source has a topic", brokers, []relay.Source{people}, part{events: true}, false},
		{"no broker", nil, []relay.Source{people, topic}, part{events: true}, false},
		{"no events", brokers, []relay.Source{people, topic}, part{}, false},
	}
	for _, tt := range tests {
		topics, err := connectTopics(kafka.Settings{Brokers: tt.brokers, ClientID: "herald"}, tt.sources, tt.part)
		require.NoError(t, err, tt.name)
		t.Cleanup(func() { closeTopics(topics) })
		require.Equal(t, tt.connected, topics != nil, tt.name)
	}
}
