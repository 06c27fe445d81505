// Package template writes the text of notifications. Operators edit the templates in a table. So
// a template may run for ever, fill the memory or not fit its data. It then fails one delivery,
// and nothing else.
package template

import (
	"context"
	"errors"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/notification"
	"herald/internal/reason"
)

// The limits of one rendered title or body.
const (
	maxBytes = 64 << 10
	maxTime  = 100 * time.Millisecond
)

// maxWebSocketBytes limits title and body together on WEBSOCKET, because a gateway holds many of
// these texts at once.
const maxWebSocketBytes = 4 << 10

var errLongForWebSocket = errors.New("title and body are longer than 4 KiB, the most over WEBSOCKET")

// Engine makes texts from templates.
type Engine struct {
	LinkSchemes []string  // further schemes of links from data; see [linkSchemes]
	Coverage    *Coverage // records what is rendered; nil: nothing is recorded

	// These functions make the links of texts. Nil: people cannot reach a gateway.
	UnsubscribeURL func(notification.Channel, notification.Message) string
	PreferencesURL func(notification.Channel, notification.Recipient) string
	MuteURL        func(notification.Channel, notification.Recipient, notification.Entity) string
}

// WithExampleLinks returns the engine with examples of links, for texts that nobody gets: only a worker
// makes real links. A channel without addresses has the same links as there.
func (e Engine) WithExampleLinks() Engine {
	const gateway, query = "https://herald.example.com", "?token=example"
	e.UnsubscribeURL = func(notification.Channel, notification.Message) string { return gateway + "/unsubscribe" + query }
	e.PreferencesURL = func(channel notification.Channel, _ notification.Recipient) string {
		if channel.AddressColumn() == "" {
			return gateway + "/#preferences"
		}
		return gateway + "/preferences" + query
	}
	e.MuteURL = func(channel notification.Channel, _ notification.Recipient, _ notification.Entity) string {
		if channel.AddressColumn() == "" {
			return ""
		}
		return gateway + "/mute" + query
	}
	return e
}

// linkSchemes are the schemes that a link from data may have.
var linkSchemes = []string{"http", "https", "mailto", "tel", "sms", "cid"}

func (e Engine) allows(scheme string) bool {
	return slices.ContainsFunc(slices.Concat(linkSchemes, e.LinkSchemes),
		func(allowed string) bool { return strings.EqualFold(scheme, allowed) })
}

// Set holds the templates of one event. It compiles a template at first use. It is safe for
// concurrent use.
type Set struct {
	before  string // event type whose rows precede the event's own; empty: none
	event   map[string]any
	payload any
	problem error // of the payload
	*shelf
}

// shelf holds templates for events of one type. Sets of several events may share it.
type shelf struct {
	engine Engine
	rows   map[key]notification.Template

	mu       sync.Mutex
	compiled map[key]*compiled
	timeouts map[key]int // per template
}

// maxTimeouts is the number of time-outs after which a template is not tried again: it is slow
// for everybody.
const maxTimeouts = 3

// key identifies a template. Its locale is canonical.
type key struct{ eventType, channel, locale string }

func keyOf(row notification.Template) key {
	return key{row.EventType, row.Channel, canonical(row.Locale)}
}

// NewSet returns the templates of an event. rows may contain rows of other events. If two rows
// have the same key, the first counts.
func (e Engine) NewSet(event notification.Event, rows []notification.Template) *Set {
	return e.newSet(rows).For(event)
}

// For returns the same templates for another event. It keeps what was compiled.
func (s *Set) For(event notification.Event) *Set {
	payload, err := notification.DecodePayload(event.Payload)
	return &Set{before: s.before, event: eventData(event), payload: printable(payload), problem: err, shelf: s.shelf}
}

// NewEscalatedSet returns the templates for a delivery that follows a failed one. Templates of
// [notification.EscalatedType] precede the ordinary ones.
func (e Engine) NewEscalatedSet(event notification.Event, rows []notification.Template) *Set {
	s := e.NewSet(event, rows)
	s.before = notification.EscalatedType(event.Type)
	return s
}

func (e Engine) newSet(rows []notification.Template) *Set {
	s := &Set{
		shelf: &shelf{engine: e, rows: make(map[key]notification.Template, len(rows)), compiled: map[key]*compiled{}, timeouts: map[key]int{}},
	}
	for _, row := range rows {
		k := keyOf(row)
		if _, found := s.rows[k]; !found {
			s.rows[k] = row
		}
	}
	return s
}

// Render writes the text for one recipient over one channel, from the most specific template. An
// error names the template, and a missing key. It contains nothing of the payload or the
// recipient. If ctx has ended, an error does not mean that the template is wrong.
func (s *Set) Render(ctx context.Context, channel notification.Channel, recipient notification.Recipient) (notification.Text, error) {
	return s.renderEvent(ctx, channel, recipient, dataOf{})
}

// RenderItem writes the text of an item of a digest, as [Set.Render] does, without a layout.
func (s *Set) RenderItem(ctx context.Context, channel notification.Channel, recipient notification.Recipient) (notification.Text, error) {
	return s.renderEvent(ctx, channel, recipient, dataOf{isItem: true})
}

func (s *Set) renderEvent(
	ctx context.Context, channel notification.Channel, recipient notification.Recipient, data dataOf,
) (notification.Text, error) {
	eventType, _ := s.event["type"].(string)
	data.eventType, data.line = eventType, map[string]any{"event": s.event, "payload": s.payload}
	data.body = data.line
	text, err := s.write(ctx, eventType, channel, recipient, data)
	if err == nil && channel == notification.WebSocket && len(text.Title)+len(text.Body) > maxWebSocketBytes {
		k, _ := s.find(eventType, string(channel), recipient.Locale)
		return notification.Text{}, &RowError{k.eventType, k.channel, s.rows[k].Locale, errLongForWebSocket}
	}
	return text, err
}

// dataOf is the data of a template: line for its title and its url, which are plain text, and body for
// its body. They differ in a digest.
type dataOf struct {
	line, body map[string]any
	recipient  notification.Recipient
	eventType  string
	isItem     bool // the text becomes an item of a digest, and has no layout
}

// write fills in the most specific template of a name with data, and adds the recipient's data.
func (s *Set) write(
	ctx context.Context, name string, channel notification.Channel, recipient notification.Recipient, data dataOf,
) (notification.Text, error) {
	k, found := s.find(name, string(channel), recipient.Locale)
	if !found {
		return notification.Text{}, fmt.Errorf("no template for %s/%s/%s", name, channel, recipient.Locale)
	}
	data.recipient = recipient
	who := recipientData(recipient)
	data.line["recipient"], data.body["recipient"] = who, who
	why := s.engine.reasonData(channel, recipient, reason.Of(recipient))
	maps.Copy(data.line, why)
	maps.Copy(data.body, why)
	text, err := s.render(ctx, k, channel, data)
	if err != nil {
		row := s.rows[k]
		return notification.Text{}, &RowError{row.EventType, row.Channel, row.Locale, err}
	}
	return text, nil
}

// RowError is an error in one row of notification_template.
type RowError struct {
	EventType, Channel, Locale string
	Err                        error
}

func (e *RowError) Error() string {
	return fmt.Sprintf("template %s/%s/%s: %v", e.EventType, e.Channel, e.Locale, e.Err)
}

func (e *RowError) Unwrap() error { return e.Err }

func (s *Set) render(ctx context.Context, k key, channel notification.Channel, data dataOf) (notification.Text, error) {
	if s.problem != nil {
		return notification.Text{}, s.problem
	}
	t := s.compile(k)
	if t.err != nil {
		return notification.Text{}, t.err
	}
	text, err := s.engine.render(ctx, t, s.rows[k], channel, data)
	if errors.Is(err, errTooSlow) {
		s.tooSlow(k, &compiled{err: err})
	}
	if errors.Is(text.URLProblem, errTooSlow) {
		s.tooSlow(k, &compiled{title: t.title, body: t.body, layout: t.layout, urlErr: text.URLProblem})
	}
	return text, err
}

// tooSlow counts a time-out. After maxTimeouts, it replaces the template by instead.
func (s *Set) tooSlow(k key, instead *compiled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timeouts[k]++; s.timeouts[k] >= maxTimeouts {
		s.compiled[k] = instead
	}
}

// render writes the parts of a row.
func (e Engine) render(
	ctx context.Context, t *compiled, row notification.Template, channel notification.Channel, data dataOf,
) (notification.Text, error) {
	title, err := t.title.render(ctx, data.line)
	if err != nil {
		return notification.Text{}, err
	}
	title = oneLine(title)
	if channel.NeedsTitle() && title == "" {
		return notification.Text{}, fmt.Errorf("the title is empty, and %s needs one", channel)
	}
	body, err := t.body.render(ctx, data.body)
	if err != nil {
		return notification.Text{}, err
	}
	if body, err = e.layOut(ctx, t, row, channel, data, body); err != nil {
		return notification.Text{}, err
	}
	text := notification.Text{Title: title, Body: body}
	if channel.Links() != notification.NoLinks {
		text.URL, text.URLProblem = t.link(ctx, data.line)
	}
	if channel.Links() == notification.WebLinks && strings.HasPrefix(text.URL, "/") {
		text.URL = ""
	}
	return text, nil
}

// lineBreak matches the characters that end a line in some program, with the spaces around them.
var lineBreak = regexp.MustCompile(`[\pZ\t]*[\n\v\f\r\x{85}\x{2028}\x{2029}][\pZ\s\x{85}]*`)

// oneLine returns a title as one line. In a mail, each further line could be a header.
func oneLine(title string) string {
	if strings.ContainsAny(title, "\n\v\f\r\u0085\u2028\u2029") { // most have none, and the expression is slow
		title = lineBreak.ReplaceAllString(title, " ")
	}
	return strings.TrimSpace(title)
}

// layOut completes the markup of a body, and writes the layout around it.
func (e Engine) layOut(
	ctx context.Context, t *compiled, row notification.Template, channel notification.Channel, data dataOf, body string,
) (_ string, err error) {
	if row.Channel != anything { // Slack's markup is completed around the whole
		if body, err = e.wrap(ctx, t, row, channel, data, body); err != nil {
			return "", err
		}
	}
	if body, err = e.markUp(body, row.Channel, channel); err != nil {
		return "", t.body.explain(err)
	}
	if row.Channel == anything {
		return e.wrap(ctx, t, row, channel, data, body)
	}
	return body, nil
}

// markUp completes the markup of a body. A row for every channel is plain text.
func (e Engine) markUp(body, of string, channel notification.Channel) (string, error) {
	switch markup := channel.Markup(); {
	case markup == notification.HTML && of == anything:
		return asHTML(body)
	case markup == notification.Mrkdwn && of == anything:
		return e.mrkdwn(mrkdwnData(body))
	case markup == notification.Mrkdwn:
		return e.mrkdwn(body)
	default:
		return body, nil
	}
}

// ErrURL means that a notification may not lead to the url.
var ErrURL = errors.New("the url must be https://…, or a path that begins with one slash")

// link writes the url. A notification without its link is better than none, so a wrong url does not
// fail the delivery.
func (t *compiled) link(ctx context.Context, data map[string]any) (string, error) {
	if t.urlErr != nil || t.url.source == "" {
		return "", t.urlErr
	}
	url, err := t.url.render(ctx, data)
	if err != nil {
		return "", err
	}
	if url = strings.TrimSpace(url); url != "" && !notification.IsLink(url) {
		return "", ErrURL
	}
	return url, nil
}

// asHTML converts plain text from a template for every channel to HTML.
func asHTML(text string) (string, error) {
	text = html.EscapeString(strings.ReplaceAll(text, "\r\n", "\n"))
	text = strings.ReplaceAll(text, "\n", "<br>\n")
	if len(text) > maxBytes {
		return "", errTooLong
	}
	return text, nil
}

func (s *Set) compile(k key) *compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, done := s.compiled[k]
	if !done {
		t = s.engine.compile(s.rows[k])
		s.compiled[k] = t
	}
	return t
}
