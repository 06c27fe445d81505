package live_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/stacktest"
	"herald/internal/web/live"
)

func TestAfter(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	old := s.records(ada, 250) // three pages
	s.records(grace, 3)
	read := s.record(ada, "read")
	s.exec("UPDATE notification SET read_at = now(), status = 'DELIVERED', sent_at = now(), delivered_at = now() WHERE id = $1", read)
	waits := s.begin(ada, "waits")

	tests := []struct {
		name string
		say  string
		want []int64
	}{
		// starts a minute earlier
		{name: "a notification that the client has", say: fmt.Sprintf(`{"type":"after","id":%d}`, old[100]),
			want: append(append(slices.Clone(old[40:100]), old[101:]...), read)},
		{name: "the last notification", say: fmt.Sprintf(`{"type":"after","id":%d}`, read), want: nil},
		{name: "no id: all unread notifications", say: `{"type":"after"}`, want: old},
		{name: "null", say: `{"type":"after","id":null}`, want: old},
		{name: "an unknown id: all unread notifications", say: `{"type":"after","id":987654321}`, want: old},
	}
	for _, tt := range tests {
		tab := g.open(ada)
		tab.say("%s", tt.say)
		next := s.send(ada, "then live, after "+tt.name)
		tab.awaits(append(tt.want, next)...)
		s.exec("DELETE FROM notification WHERE id = $1", next)
		tab.say(`{"type":"ack","id":%d}`, waits.NotificationID) // this notification was not sent
	}
}

// Long notifications arrive completely, in small pages.
func TestLongTexts(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	old := s.records(ada, 30)
	s.exec("UPDATE notification SET body = repeat('<', 65536)")
	for _, say := range []string{`{"type":"after"}`, `{"type":"after","id":987654321}`} {
		tab := g.open(ada)
		tab.say("%s", say)
		tab.awaits(old...)
	}
	require.Eventually(t, func() bool { return g.hub.HeldBytes() == 0 }, patience, interval, "written pages are released")
}

// A recipient who requests too many pages waits. Other recipients do not wait.
func TestPagesOfOneRecipient(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	s.records(ada, 400) // five pages; the last page is empty
	id := s.record(grace, "evt-1")
	for range 20 {
		tab := g.open(ada)
		for range 4 {
			tab.say(`{"type":"after"}`)
		}
	}
	require.Eventually(t, func() bool { return g.hub.WaitingPages() > 10 }, patience, interval)
	other := g.open(grace)
	other.say(`{"type":"after"}`)
	other.awaits(id)
	require.Positive(t, g.hub.WaitingPages())
}

// Messages that arrive during a catch-up wait for its end, and are sent once.
func TestLiveDuringCatchUp(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	held, url := stacktest.LinkTo(t, s.databaseURL)
	g := s.gateway(options{databaseURL: url})
	old := s.records(ada, 150)
	tab := g.open(ada)
	held.Cut() // the catch-up now waits until Mend
	tab.say(`{"type":"after","id":%d}`, old[0])
	require.Eventually(t, func() bool { return g.metric("herald_gateway_catch_ups", live.OutcomeLabel, "failed") > 0 }, patience, interval)
	both := s.begin(ada, "evt-1") // both the catch-up and the broker deliver it
	s.publish(both)
	s.end(both)
	unrecorded := s.begin(ada, "evt-2") // so far only the broker delivers it
	s.publish(unrecorded)
	require.Eventually(t, func() bool { return g.metric("herald_gateway_messages", live.OutcomeLabel, "sockets") == 2 }, patience, interval)
	require.Empty(t, tab.frames())

	held.Mend()

	tab.awaits(append(old[1:], both.NotificationID, unrecorded.NotificationID)...)
}

// A message published before the socket opened, and recorded after its catch-up, still arrives.
func TestRecordedLate(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	m := s.begin(ada, "evt-1")
	s.publish(m)
	tab := g.open(ada)
	tab.say(`{"type":"after"}`)
	require.Eventually(t, func() bool { return g.metric("herald_gateway_catch_ups", live.KindLabel, "unread") == 1 }, patience, interval)
	s.end(m)
	tab.awaits(m.NotificationID)
	asPublished, err := json.Marshal(m.Frame())
	require.NoError(t, err)
	require.Equal(t, string(asPublished), tab.frames()[0], "frames from the broker and from the table are equal")
}

// If many sockets catch up concurrently, the database gets only 8 queries at a time.
func TestCatchUpsAtOnce(t *testing.T) {
	t.Parallel()

	const sockets = 40
	s := newSystem(t)
	g := s.gateway(options{perPerson: sockets, databaseURL: strings.Replace(s.databaseURL, "pool_max_conns=8", "pool_max_conns=20", 1)})
	tabs := make([]*tab, sockets)
	for i := range tabs {
		tabs[i] = g.open(ada)
		tabs[i].say(`{"type":"after"}`)
	}
	require.Eventually(t, func() bool { return g.metric("herald_gateway_catch_ups", live.KindLabel, "unread") == sockets }, patience, interval)
	hold, err := s.store.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = hold.Rollback(t.Context()) }()
	_, err = hold.Exec(t.Context(), "LOCK TABLE notification") // all queries wait for the lock
	require.NoError(t, err)

	g.hub.Missed(time.Now())

	waiting := func() (n int) {
		require.NoError(t,
			hold.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE relation = 'notification'::regclass AND NOT granted").Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return waiting() >= 8 }, patience, interval)
	require.Equal(t, 8, waiting())
	require.NoError(t, hold.Rollback(t.Context()))
	id := s.send(ada, "evt-1")
	for _, tab := range tabs {
		tab.awaits(id)
	}
}

// Messages are published concurrently and recorded out of order. Meanwhile clients disconnect and
// reconnect with their last message, and the subscription breaks. In the end each client has each
// message, and no socket got a message twice.
func TestRaces(t *testing.T) {
	t.Parallel()

	const publishers, each = 4, 60
	s := newSystem(t)
	gateways := []*process{s.gateway(options{}), s.gateway(options{})}
	var (
		work sync.WaitGroup
		mu   sync.Mutex
		all  []int64
	)
	sent := make(chan struct{})
	for p := range publishers {
		work.Go(func() {
			for i := range each {
				id := s.send(ada, fmt.Sprintf("evt-%d-%d", p, i))
				mu.Lock()
				all = append(all, id)
				done := len(all) == publishers*each
				mu.Unlock()
				if rand.IntN(10) == 0 {
					gateways[p%2].hub.Missed(time.Now().Add(-time.Second))
				}
				if done {
					close(sent)
				}
			}
		})
	}
	clients := make([]*client, 6)
	for i := range clients {
		clients[i] = &client{has: map[int64]bool{}}
		work.Go(func() { clients[i].comeAndGo(gateways, sent) })
	}
	work.Wait()

	require.Len(t, all, publishers*each)
	for i, c := range clients {
		require.Eventually(t, func() bool { c.take(); return len(c.has) == len(all) }, patience, interval, "client %d has %d", i, len(c.has))
		require.NoError(t, c.twice)
	}
}

// client connects and disconnects, and remembers its messages, as a page in a browser does.
type client struct {
	tab   *tab
	taken int // number of the tab's messages that take has seen
	last  int64
	has   map[int64]bool
	twice error
}

func (c *client) comeAndGo(gateways []*process, until <-chan struct{}) {
	for {
		c.come(gateways[rand.IntN(len(gateways))])
		for stay := rand.IntN(40); c.taken < stay; c.take() {
			select {
			case <-until:
				return
			case <-c.tab.news:
			}
		}
		_ = c.tab.conn.CloseNow()
		<-c.tab.ended
		c.take()
	}
}

func (c *client) come(g *process) {
	c.tab, c.taken = g.open(ada), 0
	if c.last == 0 {
		c.tab.say(`{"type":"after"}`)
	} else {
		c.tab.say(`{"type":"after","id":%d}`, c.last)
	}
}

// take records the tab's new messages.
func (c *client) take() {
	got := c.tab.got()
	for i, id := range got[c.taken:] {
		if slices.Contains(got[:c.taken+i], id) {
			c.twice = fmt.Errorf("%d came twice", id)
		}
		c.has[id], c.last = true, id
	}
	c.taken = len(got)
}
