package ingest

import (
	"context"
	"sync"
	"time"

	"herald/internal/contract"
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
	schema  schema
	texts   *template.Set
	locales []string // in use; never empty
	readAt  time.Time
}

// schema is the row of event_type_schema. The zero value accepts every payload.
type schema struct {
	text     string // empty: the type has no row
	compiled *contract.Schema
	flaw     error // why it does not compile
}

// mistakes returns what the schema refuses.
func (s schema) mistakes(payload []byte) (mistakes []string) {
	if s.flaw != nil {
		return []string{s.flaw.Error()}
	}
	if s.compiled != nil {
		for _, mistake := range s.compiled.Mistakes(payload) {
			mistakes = append(mistakes, "payload "+mistake.String())
		}
	}
	return mistakes
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
	if found, err = read(ctx, store, engine, eventType, found); err != nil {
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

// read reads the rules of an event type. It keeps the compiled schema of the earlier rules, if there are any.
func read(ctx context.Context, store Store, engine template.Engine, eventType string, before *rules) (*rules, error) {
	found := &rules{readAt: time.Now()}
	var err error
	if found.setup, err = planner.On(store.DB).TypeSetup(ctx, eventType); err != nil {
		return nil, err
	}
	if found.schema.text, err = store.PayloadSchema(ctx, eventType); err != nil {
		return nil, err
	}
	if before != nil && before.schema.text == found.schema.text {
		found.schema = before.schema
	} else if found.schema.text != "" {
		found.schema.compiled, found.schema.flaw = contract.Compile([]byte(found.schema.text))
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
