package rabbitmq_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
)

// One node serves all tests that damage it, one after the other.
func TestDamagedNode(t *testing.T) {
	t.Parallel()

	node := newPrivateNode(t)
	t.Run("down at first", func(t *testing.T) { testDownAtFirst(t, node) })
	t.Run("killed while publishing", func(t *testing.T) { testRestart(t, node) })
	t.Run("memory alarm", func(t *testing.T) { testMemoryAlarm(t, node) })
}

func testDownAtFirst(t *testing.T, node *privateNode) {
	broker := connect(t, node.URL)
	requireFailure(t, broker.Publish(t.Context(), letter("1")), notification.Busy, "not connected")

	node.start(t)

	require.Eventually(t, func() bool { return broker.Ready() == nil }, patience, interval)
	require.NoError(t, broker.Publish(t.Context(), letter("2")))
}

func testRestart(t *testing.T, node *privateNode) {
	vhost := node.VHost(t)
	traffic := startTraffic(t, connect(t, vhost.URL))
	traffic.flows(t)

	node.kill(t)
	node.start(t)

	traffic.flows(t)
	traffic.requireAllStored(t, vhost)
}

func testMemoryAlarm(t *testing.T, node *privateNode) {
	vhost := node.VHost(t)
	broker, other := connect(t, vhost.URL), connect(t, vhost.URL)
	traffic := startTraffic(t, broker)
	traffic.flows(t)

	node.ctl(t, "set_vm_memory_high_watermark", "0")
	require.Eventually(t, func() bool { return broker.Ready() != nil }, patience, interval)
	require.ErrorContains(t, broker.Ready(), "alarm")
	requireFailure(t, broker.Publish(t.Context(), letter("blocked")), notification.Busy, "blocked")
	confirmed := publishLarge(t, other) // more than the sockets hold, before the client learns of the alarm
	requireReturns(t, other.Close)

	node.ctl(t, "set_vm_memory_high_watermark", "0.4")
	require.Eventually(t, func() bool { return broker.Ready() == nil }, patience, interval)
	traffic.flows(t)
	traffic.mu.Lock()
	traffic.confirmed = append(traffic.confirmed, confirmed...)
	traffic.mu.Unlock()
	traffic.requireAllStored(t, vhost)
}

// publishLarge publishes 64 messages of 1 MiB at once, and requires that all calls return by
// their deadline. It returns the ids of confirmed messages.
func publishLarge(t *testing.T, broker *rabbitmq.Broker) []string {
	t.Helper()
	var (
		all       sync.WaitGroup
		confirmed []string
		errs      = map[string]error{}
		mu        sync.Mutex
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, id := range numbers(64) {
		all.Go(func() {
			message := letter("large-" + id)
			message.Body = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
			err := broker.Publish(ctx, message)
			mu.Lock()
			defer mu.Unlock()
			errs[message.ID] = err
		})
	}
	requireReturns(t, all.Wait)
	for id, err := range errs {
		if err == nil {
			confirmed = append(confirmed, id)
		}
	}
	require.Less(t, len(confirmed), len(errs), "the alarm blocked no call")
	return confirmed
}
