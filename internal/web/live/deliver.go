package live

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// everybody is the end of the routing key of messages for all connected clients. Other programs
// publish these messages, and no table has them.
const everybody = ".all"

// Deliver passes a message from the broker to the sockets of its recipient. It never waits for a
// socket. It drops a message that is not a notification's frame.
func (h *Hub) Deliver(routingKey string, body []byte) {
	var message struct {
		Type           string                `json:"type"`
		NotificationID notification.JSONInt  `json:"notification_id"`
		UserType       notification.UserType `json:"user_type"`
		UserID         string                `json:"user_id"`
	}
	if json.Unmarshal(body, &message) != nil || message.Type != notification.FrameNotification {
		h.metrics.message(malformed)
		return
	}
	if strings.HasSuffix(routingKey, everybody) {
		for _, s := range h.all() {
			s.push(frame{kind: broadcast, body: body})
		}
		h.metrics.message(toEverybody)
		return
	}
	found := h.deliver(notification.RecipientKey{UserType: message.UserType, UserID: message.UserID},
		frame{kind: fresh, id: int64(message.NotificationID), body: body})
	if found {
		h.metrics.message(toSockets)
	} else {
		h.metrics.message(toNobody)
	}
}

func (h *Hub) deliver(to notification.RecipientKey, f frame) (found bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	r := h.rooms[to]
	if r == nil {
		return false
	}
	for _, s := range r.sockets {
		s.push(f)
	}
	return len(r.sockets) > 0
}

// Missed makes each socket read the table from the time since, because messages from the broker
// may be lost. Later messages wait for this catch-up.
func (h *Hub) Missed(since time.Time) {
	for _, s := range h.all() {
		s.ask(request{kind: missed, since: since})
	}
}

// kind is the origin of a frame.
type kind string

const (
	fresh     kind = "live"     // from the broker
	caughtUp  kind = "catch_up" // from the table
	broadcast kind = "broadcast"
)

// frame is a message for a client. Its body is shared by all sockets.
type frame struct {
	kind kind
	id   int64 // of the notification; 0 for broadcasts, which cannot be acknowledged
	body []byte
}

// frameOf returns a notification's frame, equal to the frame from the broker.
func frameOf(item notification.InboxItem) (frame, error) {
	body, err := json.Marshal(item.Frame)
	return frame{kind: caughtUp, id: int64(item.NotificationID), body: body}, err
}

// sentIDs holds the ids that were last sent to a socket.
type sentIDs struct {
	ids  []int64
	next int // index of the id to replace next, if there are maxSent
}

func (s *sentIDs) has(id int64) bool { return slices.Contains(s.ids, id) }

// add adds an id, and returns false if s has it already.
func (s *sentIDs) add(id int64) bool {
	switch {
	case s.has(id):
		return false
	case len(s.ids) < maxSent:
		s.ids = append(s.ids, id)
	default:
		s.ids[s.next] = id
		s.next = (s.next + 1) % maxSent
	}
	return true
}
