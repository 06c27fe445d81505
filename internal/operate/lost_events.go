package operate

import (
	"context"
	"time"

	"herald/internal/attempt"
	"herald/internal/event"
)

// LostEvents counts the events that Temporal has started and event_outbox lacks: Postgres lost them, with
// the other rows of their producers' transactions. A row that was purged is missing, too.
// It also counts attempts without an end.
type LostEvents struct {
	Since  time.Time `json:"since"`
	Looked int       `json:"looked"` // workflows of events that started since
	Lost   int       `json:"lost"`
	IDs    []string  `json:"ids"` // the first of them

	// Unended counts attempts that began since, and have no end. Each is repeated once, as after a crash.
	Unended    int      `json:"unended_attempts"`
	UnendedIDs []string `json:"unended_ids"` // the first deliveries
}

// maxLostIDs limits the ids in [LostEvents].
const maxLostIDs = 20

// LostEvents compares the workflows of events that started since a time with event_outbox, page by page.
func (o *Operator) LostEvents(ctx context.Context, since time.Time) (LostEvents, error) {
	found := LostEvents{Since: since.UTC(), IDs: []string{}}
	var err error
	if found.Unended, found.UnendedIDs, err = attempt.On(o.DB).Unended(ctx, since, maxLostIDs); err != nil {
		return found, err
	}
	err = o.Launcher.EachStartedEvent(ctx, since, func(ids []string) error {
		unknown, err := event.On(o.DB).Unknown(ctx, ids)
		found.Looked += len(ids)
		found.Lost += len(unknown)
		found.IDs = append(found.IDs, unknown[:min(len(unknown), maxLostIDs-len(found.IDs))]...)
		return err
	})
	return found, err
}
