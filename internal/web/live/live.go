// Package live holds the sockets of a gateway. It hands each message of the broker to the
// sockets of its recipient, brings a socket what it missed from the table, and records
// what clients acknowledge. The table is the truth: a message that no socket got waits
// there.
package live

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/coder/websocket"
	"go.opentelemetry.io/otel/metric"

	"herald/internal/notification"
)

// Inbox reads what came into a recipient's inbox.
type Inbox interface {
	// InboxAfter reads up to limit notifications behind a position, the oldest first; all of
	// them, or only unread ones.
	InboxAfter(ctx context.Context, who notification.RecipientKey, after notification.InboxPosition, unread bool, limit int) (notification.InboxPage, error)
	// InboxPositionOf fails with [notification.ErrNoNotification] where it is not theirs.
	InboxPositionOf(ctx context.Context, who notification.RecipientKey, id int64) (notification.InboxPosition, error)
	// UnreadPosition returns the position behind which so many are unread, at most.
	UnreadPosition(ctx context.Context, who notification.RecipientKey, count int) (notification.InboxPosition, error)
}

// Acknowledger records what has reached a client. What was recorded before is no error.
type Acknowledger interface {
	MarkDelivered(ctx context.Context, acknowledgements []notification.Acknowledgement) error
}

// Directory knows which recipients are active.
type Directory interface {
	ActiveRecipients(ctx context.Context, who []notification.RecipientKey) ([]notification.RecipientKey, error)
}

// Config holds the needs of a [Hub].
type Config struct {
	Inbox        Inbox
	Acknowledger Acknowledger
	Directory    Directory
	Logger       *slog.Logger
	Meter        metric.Meter

	MaxSockets             int // in all
	MaxSocketsPerRecipient int
}

// times are the times of a hub's steps. Only tests have others than [usual].
type times struct {
	tick     time.Duration // between looks at what is due
	ping     time.Duration // between pings of a socket
	pong     time.Duration // for the answer to one
	write    time.Duration // of one frame to a client that reads slowly
	page     time.Duration // of one page to a client that reads slowly
	frame    time.Duration // for the rest of a frame whose beginning has come
	goodbye  time.Duration // to say why a socket is closed, and for the client to agree
	activity time.Duration // between looks at who is still active
	flush    time.Duration // between records of acknowledgements
	query    time.Duration // of one statement
	retry    time.Duration // before a statement that failed is tried again; it doubles up to maxRetry
	maxRetry time.Duration

	// late are when a socket that was caught up is looked at again. A message that came
	// just before the socket is in the table only once its sender has recorded it.
	late []time.Duration
}

var usual = times{
	tick:     500 * time.Millisecond,
	ping:     30 * time.Second,
	pong:     10 * time.Second,
	write:    10 * time.Second,
	page:     30 * time.Second,
	frame:    10 * time.Second,
	goodbye:  5 * time.Second,
	activity: 30 * time.Second,
	flush:    200 * time.Millisecond,
	query:    10 * time.Second,
	retry:    500 * time.Millisecond,
	maxRetry: 10 * time.Second,
	late:     []time.Duration{3 * time.Second, time.Minute},
}

const (
	// readBack is the distance by which a catch-up reads further back than asked: rows become visible out
	// of order, and clocks differ. What a socket had is not sent to it again.
	readBack = time.Minute

	pageSize       = 100
	catchUpsAtOnce = 8

	// heldPages bounds the pages that sockets hold until they are written, in bytes.
	heldPages = 64 * notification.InboxPageBytes

	// A recipient's sockets together read so many pages a second, and so many at once after a
	// rest. More pages wait.
	pagesPerSecond = 10
	pagesInARow    = 60

	maxInbound  = 4 << 10 // bytes of a client's frame
	maxRequests = 8       // catch-ups that a socket may wait for

	// A client that reads too slowly for its messages is cut off when so much waits for it.
	maxQueuedFrames = 256
	maxQueuedBytes  = 1 << 20

	// maxSent is the number of ids that a socket remembers, the latest: of these it gets none
	// twice, and can acknowledge them.
	maxSent = 4096
)

// ending is why the hub closes a socket.
type ending struct {
	cause string // for the client, and for operators
	code  websocket.StatusCode
}

// The endings. 4001: sign in again. 4008: come back with what you have. 1012: come back,
// to another gateway.
var (
	expired     = ending{"expired", 4001}
	deactivated = ending{"deactivated", 4001}
	slow        = ending{"slow", 4008}
	silent      = ending{"silent", 4008} // it does not answer pings
	restarting  = ending{"restarting", websocket.StatusServiceRestart}
	tooLarge    = ending{"too_large", websocket.StatusMessageTooBig}
	violation   = ending{"protocol", websocket.StatusProtocolError}

	// gone is a client that closed the socket, or whose connection broke. It is told nothing.
	gone = ending{"gone", 0}
)

// frame tells the client before the socket is closed.
func (e ending) frame() []byte {
	body, _ := json.Marshal(map[string]string{"type": "error", "code": e.cause}) // strings can be encoded
	return body
}

// Drain tells all clients to come back elsewhere, opens no more sockets, records what was
// acknowledged and stops the hub. Where ctx ends first, what is still open is broken off.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	if !h.draining {
		h.draining = true
		if h.count == 0 {
			close(h.empty)
		}
	}
	h.mu.Unlock()
	for _, s := range h.all() {
		s.cut(restarting)
	}
	select {
	case <-h.empty:
	case <-ctx.Done():
		for _, s := range h.all() {
			_ = s.raw.Close()
		}
	}
	h.stop()
	h.running.Wait()
	return h.acks.record(ctx)
}
