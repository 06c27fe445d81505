package live

import (
	"encoding/json"

	"herald/internal/notification"
)

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

func (s *sentIDs) has(id int64) bool {
	for i := len(s.ids) - 1; i >= 0; i-- { // the latest are asked for most
		if s.ids[i] == id {
			return true
		}
	}
	return false
}

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
