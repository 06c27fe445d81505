package live_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/stacktest"
	"herald/internal/web/live"
	"herald/internal/web/signin"
)

// Three tabs of a recipient on two gateways get each message unchanged. Nobody else gets it.
func TestThreeTabsOnTwoGateways(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	one, two := s.gateway(options{}), s.gateway(options{})
	tabs := []*tab{one.open(ada), one.open(ada), two.open(ada)}
	other := two.open(grace) // another user type with the same id
	require.Equal(t, "herald.v1", tabs[0].conn.Subprotocol())

	first, second := s.begin(ada, "evt-1"), s.begin(ada, "evt-2")
	s.publish(first)
	s.publish(second)

	want, err := json.Marshal(first.Frame())
	require.NoError(t, err)
	for _, tab := range tabs {
		tab.awaits(first.NotificationID, second.NotificationID)
		require.Equal(t, string(want), tab.frames()[0])
	}
	last := s.send(grace, "evt-3")
	other.awaits(last)
}

func TestEverybody(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	tabs := []*tab{g.open(ada), g.open(grace)}
	require.Eventually(t, func() bool { return g.hub.Joined() == len(tabs) }, patience, interval, "no table has these messages")
	publish := func(body string) {
		require.NoError(t, s.broker.Publish(t.Context(), rabbitmq.Message{RoutingKey: "notification.websocket.all", ID: "1", Body: []byte(body)}))
	}

	publish(`{"type":"notification","notification_id":1,"title":"Maintenance at noon"}`)
	publish(`{"type":"notification","notification_id":1,"title":"and again"}`)

	for _, tab := range tabs {
		require.Eventually(t, func() bool { return len(tab.frames()) == 2 }, patience, interval)
	}
	tabs[0].say(`{"type":"ack","id":1}`)
	require.Eventually(t, func() bool {
		return g.metric("herald_gateway_acknowledgements", live.OutcomeLabel, "not_sent") == 1
	}, patience, interval)
}

func TestMalformedMessages(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	tab := g.open(ada)
	for _, body := range []string{
		"", "{", `"notification"`, `{}`, `{"type":"error","code":"x","user_type":"CUSTOMER","user_id":"7"}`,
		`{"type":"notification","user_type":"CUSTOMER","user_id":7}`,
	} {
		for _, key := range []string{"notification.websocket.customer", "notification.websocket.all"} {
			require.NoError(t, s.broker.Publish(t.Context(), rabbitmq.Message{RoutingKey: key, ID: "1", Body: []byte(body)}))
		}
	}

	tab.awaits(s.send(ada, "evt-1"))
	require.Len(t, tab.frames(), 1)
	require.Equal(t, 12, g.metric("herald_gateway_messages", live.OutcomeLabel, "malformed"))
}

// The first acknowledgement counts, from any socket that got the message, even before the worker
// has recorded it as sent.
func TestAcknowledge(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	one, two := s.gateway(options{}), s.gateway(options{})
	tab, again := one.open(ada), two.open(ada)
	before := s.begin(ada, "evt-1")
	s.publish(before)
	id := s.send(ada, "evt-2")
	tab.awaits(before.NotificationID, id)
	again.awaits(before.NotificationID, id)
	require.Equal(t, notification.Sent, s.status(id))

	tab.say(`{"type":"ack","id":"%d"}`, id)
	again.say(`{"type":"ack","id":%d}`, before.NotificationID)

	s.awaitStatus(id, notification.Delivered)
	s.awaitStatus(before.NotificationID, notification.Delivered)
	again.say(`{"type":"ack","id":%d}`, id) // a second acknowledgement changes nothing
	require.Eventually(t, func() bool {
		return two.metric("herald_gateway_acknowledgements", live.OutcomeLabel, "recorded") == 2
	}, patience, interval)
	s.end(before)
	require.Equal(t, notification.Delivered, s.status(before.NotificationID))
}

// A client can only acknowledge notifications that its socket was sent.
func TestAcknowledgementOfAnUnsentNotification(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	theirs, elsewhere := s.send(grace, "evt-1"), s.record(ada, "evt-2")
	tab := g.open(ada)
	id := s.send(ada, "evt-3")
	tab.awaits(id)
	for _, wrong := range []int64{theirs, elsewhere, 1 << 62} {
		tab.say(`{"type":"ack","id":%d}`, wrong)
	}

	tab.say(`{"type":"ack","id":%d}`, id)

	s.awaitStatus(id, notification.Delivered)
	require.Equal(t, 3, g.metric("herald_gateway_acknowledgements", live.OutcomeLabel, "not_sent"))
	require.Equal(t, notification.Sent, s.status(theirs))
	require.Equal(t, notification.Sent, s.status(elsewhere))
}

func TestLimits(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{max: 3, perPerson: 2, withoutMessages: true})
	refused := func(who notification.RecipientKey) int {
		_, answer, err := g.try(signin.Identity{RecipientKey: who, Expires: time.Now().Add(time.Hour)}, nil)
		require.Error(t, err)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
		require.NotEmpty(t, answer.Header.Get("Retry-After"))
		return answer.StatusCode
	}
	first := g.open(ada)
	g.open(ada)
	require.Equal(t, http.StatusTooManyRequests, refused(ada))
	g.open(grace)
	require.Equal(t, http.StatusServiceUnavailable, refused(grace))

	require.NoError(t, first.conn.Close(websocket.StatusNormalClosure, ""))

	require.Eventually(t, func() bool {
		conn, _, err := g.try(signin.Identity{RecipientKey: ada, Expires: time.Now().Add(time.Hour)}, nil)
		return err == nil && conn.CloseNow() == nil
	}, patience, interval)
	require.Equal(t, 1, g.metric("herald_gateway_socket_refusals", live.CauseLabel, "full"))
}

// A request without a handshake gets an answer, and does not count as a socket.
func TestNoHandshake(t *testing.T) {
	t.Parallel()

	g := newSystem(t).gateway(options{max: 1, withoutMessages: true})
	for range 3 {
		answer, err := http.Get("http" + g.url[len("ws"):])
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUpgradeRequired, answer.StatusCode)
	}
	g.open(ada)
}

// While the broker is down, sockets stay open. Afterwards they first get the missed messages from
// the table, each once.
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

// While the database is down, live messages arrive, catch-ups and acknowledgements wait, and no
// socket is closed.
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
	require.Eventually(t, func() bool { return g.metric("herald_gateway_acknowledgements", live.OutcomeLabel, "not_sent") == 1 }, patience,
		interval)
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
