package limit

import (
	"errors"
	"maps"
	"sync"

	"herald/internal/notification"
)

// calls counts the calls of a provider by their outcome.
type calls struct {
	mu        sync.Mutex
	byOutcome map[notification.AttemptOutcome]int64
}

func (c *calls) count(err error) {
	outcome := notification.OutcomeSent
	var failure *notification.ProviderError
	switch {
	case errors.As(err, &failure):
		outcome = failure.Class.Outcome()
	case err != nil:
		outcome = notification.OutcomeError
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byOutcome == nil {
		c.byOutcome = map[notification.AttemptOutcome]int64{}
	}
	c.byOutcome[outcome]++
}

func (c *calls) counts() map[notification.AttemptOutcome]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.byOutcome)
}
