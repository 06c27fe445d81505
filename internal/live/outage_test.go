package live_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/live"
	"herald/internal/notification"
	"herald/internal/stacktest"
)

// While a gateway has no broker, its sockets stay. What was sent meanwhile comes from the
// table before anything else, each once.
func TestBrokerCut(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	cable, url := stacktest.LinkTo(t, s.brokerURL)
	g := s.gateway(options{brokerURL: url})
	before := s.records(ada, 3)
	asked, silent, other := g.open(ada), g.open(ada), g.open(grace)
	asked.say(`{"type":"after","id":%d}`, before[0])
	asked.awaits(before[1], before[2])
	ids := []int64{s.send(ada, "evt-1")}
	silent.awaits(ids...)

	for round := range 3 {
		cable.Cut()
		require.Eventually(t, func() bool { return g.consumer.Ready() != nil }, patience, interval)
		for i := range 5 {
			ids = append(ids, s.send(ada, fmt.Sprintf("evt-away-%d-%d", round, i)))
		}
		cable.Mend()
		require.Eventually(t, func() bool { return g.consumer.Ready() == nil }, patience, interval)
		ids = append(ids, s.send(ada, fmt.Sprintf("evt-back-%d", round)))
		silent.awaits(ids...)
		asked.awaits(append(before[1:], ids...)...)
	}
	require.Empty(t, other.got())
}

// While a gateway has no database, live messages come, catch-ups and acknowledgements
// wait, and nobody is cut off.
func TestDatabaseCut(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	cable, url := stacktest.LinkTo(t, s.databaseURL)
	g := s.gateway(options{databaseURL: url, times: live.Times{Activity: interval}})
	old := s.records(ada, 3)
	fresh, caught := g.open(ada), g.open(ada)
	cable.Cut()
	caught.say(`{"type":"after"}`)
	require.Eventually(t, func() bool { return g.metric("herald_gateway_catch_ups", live.OutcomeLabel, "failed") > 3 }, patience, interval)

	id := s.send(ada, "evt-1")
	fresh.awaits(id)
	fresh.say(`{"type":"ack","id":%d}`, id)
	fresh.say(`{"type":"ack","id":%d}`, old[0])
	require.Eventually(t, func() bool { return g.metric("herald_gateway_acknowledgements", live.OutcomeLabel, "not_sent") == 1 }, patience, interval)
	require.Empty(t, caught.got())
	require.Equal(t, notification.Sent, s.status(id))
	cable.Mend()

	caught.awaits(append(old, id)...)
	s.awaitStatus(id, notification.Delivered)
	require.Equal(t, notification.Sent, s.status(old[0]))
	last := s.send(ada, "evt-2")
	fresh.awaits(id, last)
	caught.awaits(append(old, id, last)...)
}
