package receipts

import (
	"sync"
	"time"

	"herald/internal/notification"
)

// mostUnstored limits the answers that this process remembers.
const mostUnstored = 10_000

// unstoredAnswers remembers when answers first came that the database did not store. Twilio gives
// answers no time, and repeats one after a failure: a START that comes again must not lift a STOP
// that the person sent after it. It is safe for concurrent use.
type unstoredAnswers struct {
	mu    sync.Mutex
	first map[string]time.Time // by provider and message id
}

// date sets the time of an answer that has none: when it first came, or now.
func (u *unstoredAnswers) date(answer *notification.OptOut) {
	if !answer.At.IsZero() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	first, found := u.first[answer.Provider+" "+answer.MessageID]
	if !found {
		first = time.Now()
	}
	answer.At = first
}

// keep remembers an answer that was not stored.
func (u *unstoredAnswers) keep(answer notification.OptOut) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.first == nil || len(u.first) >= mostUnstored {
		u.first = map[string]time.Time{}
	}
	u.first[answer.Provider+" "+answer.MessageID] = answer.At
}
