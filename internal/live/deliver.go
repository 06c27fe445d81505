package live

import (
	"encoding/json"
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
