// Package ingest takes events by HTTP, for producers that cannot write into Herald's database. It
// writes each event in a transaction without any other row.
package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/template"
	"herald/internal/tracing"
	"herald/internal/web/problem"
	"herald/internal/web/signin"
	"herald/outbox"
)

const (
	// bodyLimit limits a request's body, in bytes. The payload and the other members share it.
	bodyLimit = 256 << 10
	// timeout limits the time of a request, including the wait for the database.
	timeout = 10 * time.Second
)

// Endpoint serves POST /api/events.
type Endpoint struct {
	Store    Store
	Verifier *signin.Verifier // of the audience INGEST_AUDIENCE
	Shares   *signin.Shares   // limits each producer
	Refused  func(signin.Reason)
	Texts    template.Engine

	rules ruleCache
}

// Share is the share of one producer: more than 1,000 events in each second.
var Share = signin.Share{PerSecond: 2000, InARow: 4000, AtOnce: 64}

// posted is a request's body. See [outbox.Event].
type posted struct {
	EventID       string          `json:"event_id"`
	EventType     string          `json:"event_type"`
	AggregateType string          `json:"aggregate_type"`
	AggregateID   id              `json:"aggregate_id"`
	Payload       json.RawMessage `json:"payload"`
	CorrelationID string          `json:"correlation_id"`
	Cancels       string          `json:"cancels"`
	ExpiresAt     *time.Time      `json:"expires_at"`
	CollapseKey   string          `json:"collapse_key"`
	ActorType     string          `json:"actor_type"`
	ActorID       id              `json:"actor_id"`
	Exclude       []string        `json:"exclude"`
}

// id is a text or an integer of any size.
type id string

// UnmarshalJSON implements [json.Unmarshaler].
func (i *id) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, &number); err == nil && text[0] != '"' {
		if strings.ContainsAny(number.String(), ".eE") {
			return &json.UnmarshalTypeError{Value: "number", Field: "an id"}
		}
		*i = id(number)
		return nil
	}
	return json.Unmarshal(text, (*string)(i))
}

// ServeHTTP implements [http.Handler]. It answers 201 if it wrote the event, and 200 if the same event
// was there already, so a producer can repeat a request whose answer was lost.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		problem.Write(w, http.StatusMethodNotAllowed, "this path takes POST")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	producer, leave, err := e.admit(ctx, r)
	if err != nil {
		signin.Refuse(w, err)
		return
	}
	defer leave()
	event, err := readEvent(w, r)
	switch {
	case err != nil:
		refuse(w, err)
	case !producer.MayWrite(event.Type):
		problem.Write(w, http.StatusForbidden, "the token's claim events does not name this event type")
	default:
		if event.Cancels != "" {
			event.CancelsTypes = producer.EventTypes()
		}
		e.take(ctx, w, producer, event)
	}
}

func (e *Endpoint) admit(ctx context.Context, r *http.Request) (producer signin.Producer, leave func(), err error) {
	if producer, err = e.Verifier.Producer(r); err == nil {
		leave, err = e.Shares.Enter(ctx, notification.RecipientKey{UserID: producer.Name})
	}
	if refusal, ok := errors.AsType[*signin.Refusal](err); ok {
		e.Refused(refusal.Reason)
	}
	return producer, leave, err
}

// take writes an event, unless it has mistakes. It also accepts an event that was written before the
// rules changed: its producer may have lost the answer.
func (e *Endpoint) take(ctx context.Context, w http.ResponseWriter, producer signin.Producer, event outbox.Event) {
	written, known := false, false
	var mistakes []string
	foreign, err := e.cancelsForeign(ctx, producer, event)
	if err == nil && !foreign {
		mistakes, err = e.mistakes(ctx, event)
	}
	switch {
	case err != nil || foreign:
	case len(mistakes) > 0:
		known, err = e.Store.HasEvent(ctx, event)
	default:
		written, err = e.Store.TakeEvent(ctx, event)
	}
	var refused *outbox.RefusedError
	switch {
	case foreign:
		problem.Write(w, http.StatusForbidden, "the token's claim events does not name the type of the event to cancel")
	case err == nil && len(mistakes) > 0 && !known:
		problem.Write(w, http.StatusUnprocessableEntity, "the event was not written", mistakes...)
	case errors.Is(err, outbox.ErrDuplicateID):
		problem.Write(w, http.StatusConflict, "another event has this id")
	case errors.As(err, &refused):
		problem.Write(w, http.StatusUnprocessableEntity, "the event was not written", refused.Why)
	case err != nil:
		away(ctx, w, err)
	default:
		answer(w, map[bool]int{true: http.StatusCreated, false: http.StatusOK}[written], event.ID)
	}
}

// refuse answers an invalid request.
func refuse(w http.ResponseWriter, err error) {
	if wrong, ok := errors.AsType[*problem.Refusal](err); ok {
		problem.Write(w, wrong.Status, wrong.Detail)
		return
	}
	problem.Write(w, http.StatusRequestEntityTooLarge, "a body has at most 256 KiB") // else the body is too large
}

func answer(w http.ResponseWriter, status int, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"event_id": id}) // it fails only if the client has disconnected
}

func away(ctx context.Context, w http.ResponseWriter, err error) {
	slog.ErrorContext(ctx, "an event was not written", "error", err)
	w.Header().Set("Retry-After", "1")
	problem.Write(w, http.StatusServiceUnavailable, "the event cannot be written now: send it again, with the same id")
}

// cancelsForeign reports whether the event cancels a known event of a type that the producer may not
// write. An event that is not known yet is cancelled only if it gets one of the producer's types.
func (e *Endpoint) cancelsForeign(ctx context.Context, producer signin.Producer, event outbox.Event) (bool, error) {
	if event.Cancels == "" || producer.EventTypes() == nil {
		return false, nil
	}
	eventType, err := e.Store.EventType(ctx, event.Cancels)
	return eventType != "" && !producer.MayWrite(eventType), err
}

// mistakes returns the mistakes that starter check would find in the event. Only rules that were read
// for this request refuse an event.
func (e *Endpoint) mistakes(ctx context.Context, event outbox.Event) ([]string, error) {
	for mustRead := false; ; mustRead = true {
		known, cached, err := e.rules.of(ctx, e.Store, e.Texts, event.Type, mustRead)
		if err != nil {
			return nil, err
		}
		if found, err := known.mistakes(ctx, event); err != nil || len(found) == 0 || !cached {
			return found, err
		}
	}
}

// mistakes returns the mistakes of an event: its schema refuses the payload, nobody would be told, or a
// text could not be written.
func (r *rules) mistakes(ctx context.Context, event outbox.Event) ([]string, error) {
	setup := r.setup
	payload, _ := event.Payload.(json.RawMessage)
	setup.Event = notification.Event{
		ID: event.ID, Type: event.Type, AggregateType: event.AggregateType, AggregateID: event.AggregateID, Payload: payload,
		CreatedAt: setup.Now,
	}
	refused := r.schema.mistakes(payload)
	if len(setup.Routing) == 0 {
		if event.Cancels != "" {
			return refused, nil
		}
		return []string{"event_type: no row of event_type_channel_routing has it, so the event would tell nobody"}, nil
	}
	setup.Routing = slices.Clone(setup.Routing) // other requests read the same rules
	setup.ReadPayload()
	targets, mistakes := notification.Targets(setup.Event, setup.Recipients)
	if len(targets) > 0 { // some of the rules name recipients
		mistakes = nil
	}
	mistakes = append(refused, mistakes...)
	texts := r.texts.For(setup.Event)
	for _, route := range setup.Routing {
		if route.OnEscalationOnly {
			continue
		}
		if route.DueProblem != "" {
			mistakes = append(mistakes, string(route.Channel)+": "+route.DueProblem)
		}
		mistakes = append(mistakes, r.unwritten(ctx, texts, route.Channel)...)
	}
	return mistakes, ctx.Err()
}

// unwritten returns why texts over a channel cannot be written, once for each template.
func (r *rules) unwritten(ctx context.Context, texts *template.Set, channel notification.Channel) (mistakes []string) {
	tried := map[notification.Template]bool{} // a missing template is the zero row
	for _, locale := range r.locales {
		row, _ := texts.Chosen(channel, locale)
		if tried[row] {
			continue
		}
		tried[row] = true
		person := notification.Recipient{UserType: notification.Customer, UserID: "1", Name: "Ada", Locale: locale}
		if _, err := texts.Render(ctx, channel, person); err != nil {
			mistakes = append(mistakes, string(channel)+": "+err.Error())
		}
	}
	return mistakes
}

// readEvent reads the event of a request. The header Idempotency-Key is its id if the body has none.
func readEvent(w http.ResponseWriter, r *http.Request) (outbox.Event, error) {
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	if event, isOne, err := readCloudEvent(r); isOne {
		return event, err
	}
	text, err := problem.ReadJSON(r)
	if err != nil {
		return outbox.Event{}, err
	}
	var body posted
	if err := problem.Decode(text, &body); err != nil {
		return outbox.Event{}, err
	}
	id := cmp.Or(body.EventID, strings.TrimSpace(r.Header.Get("Idempotency-Key")))
	if id == "" {
		return outbox.Event{}, problem.BadRequest("name the event's id: event_id in the body, or the header Idempotency-Key")
	}
	event := outbox.Event{
		ID: id, Type: body.EventType, AggregateType: body.AggregateType, AggregateID: string(body.AggregateID), Payload: body.Payload,
		CorrelationID: body.CorrelationID, Cancels: body.Cancels, CollapseKey: body.CollapseKey,
		Traceparent: tracing.Valid(r.Header.Get("traceparent")),
		ActorType:   body.ActorType, ActorID: string(body.ActorID), Exclude: body.Exclude,
	}
	if body.ExpiresAt != nil {
		event.ExpiresAt = expiry(*body.ExpiresAt)
	}
	return event, nil
}

// expiry returns an event's expiry. The year 1 is Go's zero time, which means never, but it has passed.
func expiry(at time.Time) time.Time {
	if at.Unix() < 0 {
		return time.Unix(0, 0)
	}
	return at
}
