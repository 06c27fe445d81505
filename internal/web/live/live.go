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

// Inbox reads the notifications in a recipient's inbox.
type Inbox interface {
	// InboxAfter reads up to limit notifications after a position, oldest first: all
	// notifications, or only unread notifications.
	InboxAfter(
		ctx context.Context, who notification.RecipientKey, after notification.InboxPosition, unread bool, limit int,
	) (notification.InboxPage, error)
	// InboxPositionOf fails with [notification.ErrNoNotification] if who has no such notification.
	InboxPositionOf(ctx context.Context, who notification.RecipientKey, id int64) (notification.InboxPosition, error)
	// UnreadPosition returns a position after which at most count notifications are unread.
	UnreadPosition(ctx context.Context, who notification.RecipientKey, count int) (notification.InboxPosition, error)
}

// Acknowledger records that notifications have reached a client. Repeating a record is no error.
type Acknowledger interface {
	MarkDelivered(ctx context.Context, acknowledgements []notification.Acknowledgement) error
}

// Directory finds the recipients who may stay connected.
type Directory interface {
	// ActiveRecipients returns the existing and active recipients in who, without merged
	// people.
	ActiveRecipients(ctx context.Context, who []notification.RecipientKey) ([]notification.RecipientKey, error)
}

// Config holds the dependencies and limits of a [Hub].
type Config struct {
	Inbox        Inbox
	Acknowledger Acknowledger
	Directory    Directory
	Logger       *slog.Logger
	Meter        metric.Meter

	MaxSockets             int // of all recipients
	MaxSocketsPerRecipient int
}

// times holds the intervals and time limits of a hub. Only tests replace [usual].
type times struct {
	tick     time.Duration // between two calls of look
	ping     time.Duration // between two pings of a socket
	pong     time.Duration // to wait for the answer to a ping
	write    time.Duration // to write a frame to a slow client
	page     time.Duration // to write a page to a slow client
	frame    time.Duration // to receive the rest of a frame after its beginning
	goodbye  time.Duration // to send the cause and to finish the close handshake
	activity time.Duration // between two checks whether recipients are active
	flush    time.Duration // between two batches of acknowledgements
	query    time.Duration // for one database query
	retry    time.Duration // before the first retry of a failed query; doubles up to maxRetry
	maxRetry time.Duration

	// late are the times after a catch-up at which the socket catches up again. A message that
	// was published just before the socket opened may be recorded in the table only later.
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
	// readBack is the extra time that a catch-up reads before the requested time: rows become
	// visible out of order, and clocks differ. A socket gets no message twice.
	readBack = time.Minute

	pageSize       = 100
	catchUpsAtOnce = 8

	// heldPages is the maximum number of bytes of pages read but not written yet.
	heldPages = 64 * notification.InboxPageBytes

	// Limits of the pages that all sockets of one recipient read: pages a second, and pages in a
	// burst. More pages wait.
	pagesPerSecond = 10
	pagesInARow    = 60

	maxInbound  = 4 << 10 // maximum bytes of a client's frame
	maxRequests = 8       // maximum waiting catch-ups of a socket

	// If more than this waits for a client that reads too slowly, the hub cuts it off.
	maxQueuedFrames = 256
	maxQueuedBytes  = 1 << 20

	// maxSent is the number of sent ids that a socket remembers. The client gets none of these
	// notifications twice, and can acknowledge only them.
	maxSent = 4096
)

// ending is the reason why the hub closes a socket.
type ending struct {
	cause string // for the client and the metrics
	code  websocket.StatusCode
}

// Endings. With code 4001 the client must sign in again. With 4008 it should reconnect and name
// its last notification. With 1012 it should reconnect to another gateway.
var (
	expired     = ending{"expired", 4001}
	deactivated = ending{"deactivated", 4001}
	slow        = ending{"slow", 4008}
	silent      = ending{"silent", 4008} // the client does not answer pings
	restarting  = ending{"restarting", websocket.StatusServiceRestart}
	tooLarge    = ending{"too_large", websocket.StatusMessageTooBig}
	violation   = ending{"protocol", websocket.StatusProtocolError}

	// gone means that the client closed the socket or the connection broke. Nothing is sent.
	gone = ending{"gone", 0}
)

// frame returns the error frame that the client gets before the socket closes.
func (e ending) frame() []byte {
	body, _ := json.Marshal(map[string]string{"type": "error", "code": e.cause}) // encoding strings never fails
	return body
}

// Drain opens no more sockets, tells all clients to reconnect to another gateway, records the
// acknowledgements and stops the hub. If ctx ends first, Drain breaks off the open connections.
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
