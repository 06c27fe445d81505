package rabbitmq_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

func TestConnectionClosedByServer(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	traffic := startTraffic(t, connect(t, vhost.URL))

	for range 2 { // the second time it breaks a restored connection
		traffic.flows(t)
		require.Eventually(t, func() bool { return vhost.CloseConnections(t) > 0 }, patience, interval)
	}

	traffic.flows(t)
	traffic.requireAllStored(t, vhost)
}

// traffic publishes from many goroutines, each message once, until it stops.
type traffic struct {
	stop       context.CancelFunc
	publishers sync.WaitGroup
	count      atomic.Int64 // confirmations

	mu        sync.Mutex
	confirmed []string
}

func startTraffic(t *testing.T, broker *rabbitmq.Broker) *traffic {
	t.Helper()
	const publishers = 8
	ctx, stop := context.WithCancel(t.Context())
	tr := &traffic{stop: stop}
	t.Cleanup(func() {
		stop()
		tr.publishers.Wait()
	})
	for publisher := range publishers {
		tr.publishers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				tr.publish(ctx, broker, strconv.Itoa(publisher)+"-"+strconv.Itoa(i))
			}
		})
	}
	return tr
}

func (tr *traffic) publish(ctx context.Context, broker *rabbitmq.Broker, id string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if broker.Publish(ctx, letter(id)) != nil {
		return
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.confirmed = append(tr.confirmed, id)
	tr.count.Add(1)
}

// flows waits for 20 more confirmations.
func (tr *traffic) flows(t *testing.T) {
	t.Helper()
	enough := tr.count.Load() + 20
	require.Eventually(t, func() bool { return tr.count.Load() >= enough }, patience, interval)
}

// requireAllStored ends the traffic, and requires every confirmed message in its queue.
func (tr *traffic) requireAllStored(t *testing.T, vhost rabbitmqtest.VirtualHost) {
	t.Helper()
	tr.stop()
	tr.publishers.Wait()
	stored := map[string]bool{}
	for _, id := range ids(vhost.Take(t, rabbitmq.DeadLetterQueue)) {
		stored[id] = true
	}
	for _, id := range tr.confirmed {
		require.True(t, stored[id], "%s was confirmed, but is lost", id)
	}
}
