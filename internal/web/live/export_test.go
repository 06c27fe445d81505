package live

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"herald/internal/notification"
)

// Times holds shorter times of a hub, so that tests need not wait.
type Times struct {
	Ping, Pong, Write, Page, Frame, Goodbye, Activity time.Duration
}

// NewQuickHub does the same as [NewHub] with shorter intervals. Times other than 0 replace the
// usual times.
func NewQuickHub(cfg Config, t Times) (*Hub, error) {
	quick := usual
	quick.tick, quick.flush, quick.retry, quick.maxRetry = 10*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond, 100*time.Millisecond
	quick.late = []time.Duration{50 * time.Millisecond, time.Second, 15 * time.Second}
	for _, other := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&quick.ping, t.Ping}, {&quick.pong, t.Pong}, {&quick.write, t.Write}, {&quick.page, t.Page}, {&quick.frame, t.Frame},
		{&quick.goodbye, t.Goodbye}, {&quick.activity, t.Activity},
	} {
		if other.value != 0 {
			*other.field = other.value
		}
	}
	return newHub(cfg, quick)
}

// HeldBytes returns the number of bytes of pages that sockets hold.
func (h *Hub) HeldBytes() (held int64) {
	for _, s := range h.all() {
		s.mu.Lock()
		held += s.held
		s.mu.Unlock()
	}
	return held
}

// Joined returns the number of sockets that get messages. A client's handshake ends before its socket
// joins.
func (h *Hub) Joined() int { return len(h.all()) }

// WaitingPages returns the number of sockets that wait because of the recipient's rate limit.
func (h *Hub) WaitingPages() (waiting int) {
	for _, s := range h.all() {
		s.mu.Lock()
		if s.reading && !s.retryAt.IsZero() {
			waiting++
		}
		s.mu.Unlock()
	}
	return waiting
}

func TestSentIDs(t *testing.T) {
	t.Parallel()

	var s sentIDs
	for id := range int64(maxSent + 100) {
		require.True(t, s.add(id+1))
		require.False(t, s.add(id+1))
	}
	require.Len(t, s.ids, maxSent, "a socket remembers a limited number of ids")
	for id := range int64(maxSent) {
		require.True(t, s.has(id+101), "%d is one of the last", id+101)
	}
	require.False(t, s.has(100))
	require.True(t, s.add(100), "a forgotten id counts as new")
}

// A catch-up begins a minute before the time up to which the socket has everything. It reads
// nothing from before the socket opened unless the client asked for it.
func TestFrom(t *testing.T) {
	t.Parallel()

	opened := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return opened.Add(time.Duration(minute) * time.Minute) }
	tests := []struct {
		name    string
		state   catching
		request request
		want    time.Time
	}{
		{name: "no catch-up, a late gap", state: catching{complete: opened}, request: request{kind: missed, since: at(60)}, want: at(59)},
		{name: "no catch-up, an early gap", state: catching{complete: opened}, request: request{kind: missed, since: at(-30)}, want: opened},
		{name: "no catch-up, late", state: catching{complete: opened}, request: request{kind: late}, want: opened},
		{name: "caught up before the gap", state: catching{complete: at(5), asked: true}, request: request{kind: missed, since: at(60)},
			want: at(59)},
		{name: "caught up in the gap", state: catching{complete: at(5), asked: true}, request: request{kind: missed, since: at(2)}, want: at(4)},
		{name: "catch-up unfinished, an earlier gap", state: catching{complete: opened, asked: true},
			request: request{kind: missed, since: at(-30)}, want: at(-1)},
		{name: "late", state: catching{complete: at(5), asked: true}, request: request{kind: late}, want: at(4)},
	}
	for _, tt := range tests {
		s := &socket{opened: opened, catching: tt.state}
		require.Equal(t, tt.want, s.from(tt.request), tt.name)
	}
}

// away is a database that always fails.
type away struct{ asked atomic.Int64 }

func (a *away) MarkDelivered(context.Context, []notification.Acknowledgement) error {
	a.asked.Add(1)
	return errors.New("away")
}

// While the database is down, at most maxAcknowledgements acknowledgements wait.
func TestAcknowledgementsAreBounded(t *testing.T) {
	t.Parallel()

	var database away
	h, err := NewQuickHub(Config{Acknowledger: &database, Logger: slog.New(slog.DiscardHandler), Meter: noop.Meter{}, MaxSockets: 1}, Times{})
	require.NoError(t, err)
	for id := range int64(maxAcknowledgements + 10) {
		h.acks.add(notification.Acknowledgement{ID: id})
		h.acks.add(notification.Acknowledgement{ID: id}) // from a second tab
	}
	require.Len(t, h.acks.waiting, maxAcknowledgements)
	require.Eventually(t, func() bool { return database.asked.Load() > 2 }, time.Minute, time.Millisecond)
	require.Len(t, h.acks.waiting, maxAcknowledgements, "acknowledgements wait until they are recorded")
	require.ErrorContains(t, h.Drain(t.Context()), "away", "a drain returns an error if acknowledgements are lost")
}
