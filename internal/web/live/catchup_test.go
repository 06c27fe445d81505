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
		{name: "one that it has", say: fmt.Sprintf(`{"type":"after","id":%d}`, old[100]), want: append(append(slices.Clone(old[40:100]), old[101:]...), read)}, // a minute further back
		{name: "the last", say: fmt.Sprintf(`{"type":"after","id":%d}`, read), want: nil},
		{name: "nothing: all that is unread", say: `{"type":"after"}`, want: old},
		{name: "null", say: `{"type":"after","id":null}`, want: old},
		{name: "one that is not there: all that is unread", say: `{"type":"after","id":987654321}`, want: old},
	}
	for _, tt := range tests {
		tab := g.open(ada)
		tab.say("%s", tt.say)
		next := s.send(ada, "then live, after "+tt.name)
		tab.awaits(append(tt.want, next)...)
		s.exec("DELETE FROM notification WHERE id = $1", next)
		tab.say(`{"type":"ack","id":%d}`, waits.NotificationID) // was not sent
	}
}

// Long notifications come in small pages, and all of them come.
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
	require.Eventually(t, func() bool { return g.hub.HeldBytes() == 0 }, patience, interval, "pages that were written are not held")
}

// A recipient who asks for too much waits, and nobody else does.
func TestPagesOfOneRecipient(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	g := s.gateway(options{})
	s.records(ada, 400) // five pages, the last of which is empty
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

// What comes while a socket is caught up waits, and comes once.
func TestLiveDuringCatchUp(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	held, url := stacktest.LinkTo(t, s.databaseURL)
	g := s.gateway(options{databaseURL: url})
	old := s.records(ada, 150)
	tab := g.open(ada)
	held.Cut() // so that the catch-up takes as long as this test wants
	tab.say(`{"type":"after","id":%d}`, old[0])
	require.Eventually(t, func() bool { return g.metric("herald_gateway_catch_ups", live.OutcomeLabel, "failed") > 0 }, patience, interval)
	both := s.begin(ada, "evt-1") // the catch-up will find it, and the broker brings it
	s.publish(both)
	s.end(both)
	unrecorded := s.begin(ada, "evt-2") // only the broker brings it yet
	s.publish(unrecorded)
	require.Eventually(t, func() bool { return g.metric("herald_gateway_messages", live.OutcomeLabel, "sockets") == 2 }, patience, interval)
	require.Empty(t, tab.frames())

	held.Mend()

	tab.awaits(append(old[1:], both.NotificationID, unrecorded.NotificationID)...)
}

// A message that came before the socket, and is recorded after the catch-up, comes all the same.
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
	require.Equal(t, string(asPublished), tab.frames()[0], "a frame is the same from either place")
}

// However many sockets are to be caught up at once, the database is asked for few at once.
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
	_, err = hold.Exec(t.Context(), "LOCK TABLE notification") // so that each question waits
	require.NoError(t, err)

	g.hub.Missed(time.Now())

	waiting := func() (n int) {
		require.NoError(t, hold.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE relation = 'notification'::regclass AND NOT granted").Scan(&n))
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

// Messages are published in parallel and recorded out of order, while clients come with
// the last that they have, go, and come again, and the subscription breaks: each client
// has each message in the end, and no socket has one twice.
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

// client comes and goes. It remembers what it has, as a page does.
type client struct {
	tab   *tab
	taken int // of what the tab got
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

// take looks at what has come.
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
