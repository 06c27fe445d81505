package live

import (
	"context"
	"sync"
	"time"

	"herald/internal/notification"
)

const (
	// maxAcknowledgements limits the acknowledgements that wait while the database is down. More
	// acknowledgements are dropped: their rows stay SENT until they are read or acknowledged again.
	maxAcknowledgements    = 50_000
	acknowledgementsAtOnce = 1000
)

// acknowledgements holds the clients' acknowledgements that are not recorded yet.
type acknowledgements struct {
	hub *Hub

	mu      sync.Mutex
	waiting map[int64]notification.RecipientKey // by notification id
}

func newAcknowledgements(h *Hub) *acknowledgements {
	return &acknowledgements{hub: h, waiting: map[int64]notification.RecipientKey{}}
}

func (a *acknowledgements) add(ack notification.Acknowledgement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) >= maxAcknowledgements {
		a.hub.metrics.acknowledged(dropped, 1)
		return
	}
	a.waiting[ack.ID] = ack.RecipientKey
}

// some returns the next acknowledgements to record. They stay in a until recorded removes them.
func (a *acknowledgements) some() []notification.Acknowledgement {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch := make([]notification.Acknowledgement, 0, min(len(a.waiting), acknowledgementsAtOnce))
	for id, who := range a.waiting {
		if len(batch) == acknowledgementsAtOnce {
			break
		}
		batch = append(batch, notification.Acknowledgement{ID: id, RecipientKey: who})
	}
	return batch
}

func (a *acknowledgements) recorded(batch []notification.Acknowledgement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ack := range batch {
		delete(a.waiting, ack.ID)
	}
}

// run records the acknowledgements in batches until the hub stops.
func (a *acknowledgements) run() {
	wait := a.hub.flush
	for failures := 0; ; {
		select {
		case <-time.After(wait):
		case <-a.hub.life.Done():
			return
		}
		wait = a.hub.flush
		if err := a.record(a.hub.life); err != nil {
			a.hub.Logger.Warn("acknowledgements cannot be recorded now; they wait", "error", err)
			wait = min(a.hub.retry<<min(failures, 10), a.hub.maxRetry)
			failures++
		} else {
			failures = 0
		}
	}
}

// record records all waiting acknowledgements.
func (a *acknowledgements) record(ctx context.Context) error {
	for batch := a.some(); len(batch) > 0; batch = a.some() {
		ctx, cancel := context.WithTimeout(ctx, a.hub.query)
		err := a.hub.Acknowledger.MarkDelivered(ctx, batch)
		cancel()
		if err != nil {
			return err
		}
		a.recorded(batch)
		a.hub.metrics.acknowledged(taken, len(batch))
	}
	return nil
}
