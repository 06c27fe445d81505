package live

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// everybody ends the routing key of messages for all who are connected. They come from
// other publishers, and are in no table.
const everybody = ".all"

// Deliver hands a message of the broker to the sockets of its recipient. It never waits
// for one of them. A message that is not a notification's frame is dropped.
func (h *Hub) Deliver(routingKey string, body []byte) {
	var message struct {
		Type           string                `json:"type"`
		NotificationID int64                 `json:"notification_id"`
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
	found := h.deliver(notification.RecipientKey{UserType: message.UserType, UserID: message.UserID}, frame{kind: fresh, id: message.NotificationID, body: body})
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

// Missed makes each socket read from the table what may never have come, since a time,
// before it gets anything that follows.
func (h *Hub) Missed(since time.Time) {
	for _, s := range h.all() {
		s.ask(request{kind: missed, since: since})
	}
}

// kind is where a frame comes from.
type kind string

const (
	fresh     kind = "live"     // from the broker
	caughtUp  kind = "catch_up" // from the table
	broadcast kind = "broadcast"
)

// frame is a message for a client. Its body is shared by all sockets.
type frame struct {
	kind kind
	id   int64 // of the notification; 0: none, so it cannot be acknowledged
	body []byte
}

// frameOf is a notification's message as the broker brings it.
func frameOf(item notification.InboxItem) (frame, error) {
	body, err := json.Marshal(item.Frame)
	return frame{kind: caughtUp, id: item.NotificationID, body: body}, err
}

// sentIDs are the last ids that a socket was sent.
type sentIDs struct {
	ids  []int64
	next int // where the next goes once there are maxSent
}

func (s *sentIDs) has(id int64) bool { return slices.Contains(s.ids, id) }

// add returns false where the id is there already.
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
