// Package template writes the text of a notification. Its templates come from a
// table that operators edit, so a template is not trusted to end, to stay small
// or to fit its data: whatever it does fails one delivery, and nothing else.
package template

import (
	"context"
	"errors"
	"fmt"
	"html"
	"strings"
	"sync"
	"time"

	"herald/internal/notification"
)

// The bounds of one rendered title or body, after the specification.
const (
	maxBytes = 64 << 10
	maxTime  = 100 * time.Millisecond
)

// Set is the templates of one event. Each is compiled when it is first needed.
// A Set is safe for concurrent use.
type Set struct {
	event   map[string]any
	payload any
	problem error // with the payload
	rows    map[key]notification.Template

	mu       sync.Mutex
	compiled map[key]*compiled
	slow     map[key]int // how often each has run into its time-out
}

// patience is how often a template may run into its time-out. After that it is
// not tried again: it is slow for everybody, and each try costs its time.
const patience = 3

// key is what a template is found by; its locale is in canonical form.
type key struct{ eventType, channel, locale string }

// NewSet returns the templates of an event, out of rows that may hold those of
// other events too. Of two rows with one key the first is taken.
func NewSet(event notification.Event, rows []notification.Template) *Set {
	s := newSet(rows)
	s.event = eventData(event)
	s.payload, s.problem = decodePayload(event.Payload)
	return s
}

func newSet(rows []notification.Template) *Set {
	s := &Set{rows: make(map[key]notification.Template, len(rows)), compiled: map[key]*compiled{}, slow: map[key]int{}}
	for _, row := range rows {
		k := key{row.EventType, row.Channel, canonical(row.Locale)}
		if _, found := s.rows[k]; !found {
			s.rows[k] = row
		}
	}
	return s
}

// Render writes the text for one recipient over one channel, from the most
// specific template there is. An error names the template and, where one is
// missing, the key; it holds nothing of the payload or of the recipient. When ctx
// ends, the error is of no account.
func (s *Set) Render(ctx context.Context, channel notification.Channel, recipient notification.Recipient) (notification.Text, error) {
	eventType, _ := s.event["type"].(string)
	return s.write(ctx, eventType, channel, recipient, map[string]any{"event": s.event, "payload": s.payload})
}

// write fills in the most specific template of a name, with data about the
// recipient beside that which is given.
func (s *Set) write(ctx context.Context, name string, channel notification.Channel, recipient notification.Recipient, data map[string]any) (notification.Text, error) {
	k, found := s.find(name, string(channel), recipient.Locale)
	if !found {
		return notification.Text{}, fmt.Errorf("no template for %s/%s/%s", name, channel, recipient.Locale)
	}
	data["recipient"] = recipientData(recipient)
	text, err := s.render(ctx, k, channel, data)
	if err != nil {
		row := s.rows[k]
		return notification.Text{}, fmt.Errorf("template %s/%s/%s: %w", row.EventType, row.Channel, row.Locale, err)
	}
	return text, nil
}

func (s *Set) render(ctx context.Context, k key, channel notification.Channel, data map[string]any) (notification.Text, error) {
	if s.problem != nil {
		return notification.Text{}, s.problem
	}
	t := s.compile(k)
	if t.err != nil {
		return notification.Text{}, t.err
	}
	text, err := t.render(ctx, k, channel, data)
	if errors.Is(err, errTooSlow) {
		s.tooSlow(k, err)
	}
	return text, err
}

// tooSlow counts a time-out, and gives a template up that had too many.
func (s *Set) tooSlow(k key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slow[k]++; s.slow[k] >= patience {
		s.compiled[k] = &compiled{err: err}
	}
}

func (t *compiled) render(ctx context.Context, k key, channel notification.Channel, data map[string]any) (notification.Text, error) {
	title, err := t.title.render(ctx, data)
	if err != nil {
		return notification.Text{}, err
	}
	if err := checkTitle(title, channel); err != nil {
		return notification.Text{}, err
	}
	body, err := t.body.render(ctx, data)
	if err != nil {
		return notification.Text{}, err
	}
	if channel.HTML() && k.channel == anything {
		body, err = asHTML(body)
	}
	return notification.Text{Title: title, Body: body}, err
}

// checkTitle keeps a title from becoming several header lines of a mail.
func checkTitle(title string, channel notification.Channel) error {
	switch {
	case strings.ContainsAny(title, "\r\n"):
		return fmt.Errorf("line break in the title")
	case channel.NeedsTitle() && strings.TrimSpace(title) == "":
		return fmt.Errorf("the title is empty, and %s needs one", channel)
	default:
		return nil
	}
}

// asHTML makes HTML of the plain text that a template for every channel yields.
func asHTML(text string) (string, error) {
	text = html.EscapeString(strings.ReplaceAll(text, "\r\n", "\n"))
	text = strings.ReplaceAll(text, "\n", "<br>\n")
	if len(text) > maxBytes {
		return "", fmt.Errorf("body: %w", errTooLong)
	}
	return text, nil
}

func (s *Set) compile(k key) *compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, done := s.compiled[k]
	if !done {
		t = compile(s.rows[k])
		s.compiled[k] = t
	}
	return t
}
