package ingest

import (
	"context"
	"sync"
	"time"

	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

const (
	// freshFor is the time for which rules accept events before they are read again.
	freshFor = time.Second
	// cachedTypes limits the event types whose rules are kept.
	cachedTypes = 200
	// triedLocales limits the locales in which the texts of an event are tried, as in starter check.
	triedLocales = 20
)

// rules are the rules of one event type, and its compiled templates. They never change.
type rules struct {
	setup   notification.EventSetup // without an event
	texts   *template.Set
	locales []string // in use; never empty
	readAt  time.Time
}

// ruleCache keeps the rules of some event types. The zero value is empty. It is safe for concurrent
// use.
type ruleCache struct {
	mu     sync.Mutex
	byType map[string]*rules
}

// of returns the rules of an event type. cached is false if this call has read them.
func (c *ruleCache) of(
	ctx context.Context, store Store, engine template.Engine, eventType string, mustRead bool,
) (found *rules, cached bool, err error) {
	c.mu.Lock()
	found = c.byType[eventType]
	c.mu.Unlock()
	if !mustRead && found != nil && time.Since(found.readAt) < freshFor {
		return found, true, nil
	}
	if found, err = read(ctx, store, engine, eventType); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byType == nil || len(c.byType) >= cachedTypes {
		c.byType = map[string]*rules{}
	}
	c.byType[eventType] = found
	return found, false, nil
}

func read(ctx context.Context, store Store, engine template.Engine, eventType string) (*rules, error) {
	found := &rules{readAt: time.Now()}
	var err error
	if found.setup, err = planner.On(store.DB).TypeSetup(ctx, eventType); err != nil {
		return nil, err
	}
	if found.locales, err = store.Locales(ctx, triedLocales); err != nil {
		return nil, err
	}
	if len(found.locales) == 0 {
		found.locales = []string{"en"}
	}
	found.texts = engine.NewSet(notification.Event{Type: eventType, Payload: []byte("{}")}, found.setup.Templates)
	return found, nil
}
