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

// Store writes events and reads the rules of their types.
type Store interface {
	// TakeEvent writes an event. written is false if exactly this event was there already. If another
	// event has its id, the error is [outbox.ErrDuplicateID].
	TakeEvent(ctx context.Context, event outbox.Event) (written bool, err error)
	// HasEvent reports whether exactly this event is there.
	HasEvent(ctx context.Context, event outbox.Event) (bool, error)
	TypeSetup(ctx context.Context, eventType string) (notification.EventSetup, error)
}

// Endpoint serves POST /api/events.
type Endpoint struct {
	Store    Store
	Verifier *signin.Verifier // of the audience INGEST_AUDIENCE
	Shares   *signin.Shares   // limits each producer
	Refused  func(signin.Reason)
	Texts    template.Engine
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
	ExpiresAt     time.Time       `json:"expires_at"`
	CollapseKey   string          `json:"collapse_key"`
}

// id is a text or an integer of any size.
type id string

// UnmarshalJSON implements [json.Unmarshaler].
func (i *id) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, &number); err == nil && text[0] != '"' {
		if strings.ContainsAny(number.String(), ".eE") {
			return &json.UnmarshalTypeError{Value: "number", Field: "aggregate_id"}
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
	event, err := read(w, r)
	switch {
	case err != nil:
		refuse(w, err)
	case !producer.MayWrite(event.Type):
		problem.Write(w, http.StatusForbidden, "the token's claim events does not name this event type")
	default:
		e.take(ctx, w, event)
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
func (e *Endpoint) take(ctx context.Context, w http.ResponseWriter, event outbox.Event) {
	written, known := false, false
	mistakes, err := e.mistakes(ctx, event)
	switch {
	case err != nil:
	case len(mistakes) > 0:
		known, err = e.Store.HasEvent(ctx, event)
	default:
		written, err = e.Store.TakeEvent(ctx, event)
	}
	var refused *outbox.RefusedError
	switch {
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

// mistakes returns the mistakes that starter check would find in the event: nobody would be told, or a
// text could not be written.
func (e *Endpoint) mistakes(ctx context.Context, event outbox.Event) ([]string, error) {
	setup, err := e.Store.TypeSetup(ctx, event.Type)
	if err != nil {
		return nil, err
	}
	payload, _ := event.Payload.(json.RawMessage)
	setup.Event = notification.Event{ID: event.ID, Type: event.Type, AggregateType: event.AggregateType, AggregateID: event.AggregateID, Payload: payload, CreatedAt: setup.Now}
	if len(setup.Routing) == 0 {
		if event.Cancels != "" {
			return nil, nil
		}
		return []string{"event_type: no row of event_type_channel_routing has it, so the event would tell nobody"}, nil
	}
	setup.ReadPayload()
	targets, mistakes := notification.Targets(setup.Event, setup.Recipients)
	if len(targets) > 0 { // some of the rules name recipients
		mistakes = nil
	}
	texts := e.Texts.NewSet(setup.Event, setup.Templates)
	for _, route := range setup.Routing {
		if route.OnEscalationOnly {
			continue
		}
		if route.DueProblem != "" {
			mistakes = append(mistakes, string(route.Channel)+": "+route.DueProblem)
		}
		if _, err := texts.Render(ctx, route.Channel, notification.Recipient{UserType: notification.Customer, UserID: "1", Name: "Ada"}); err != nil {
			mistakes = append(mistakes, string(route.Channel)+": "+err.Error())
		}
	}
	return mistakes, ctx.Err()
}

// read reads the event of a request. The header Idempotency-Key is its id if the body has none.
func read(w http.ResponseWriter, r *http.Request) (outbox.Event, error) {
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
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
	return outbox.Event{
		ID: id, Type: body.EventType, AggregateType: body.AggregateType, AggregateID: string(body.AggregateID), Payload: body.Payload,
		CorrelationID: body.CorrelationID, Cancels: body.Cancels, ExpiresAt: body.ExpiresAt, CollapseKey: body.CollapseKey,
		Traceparent: tracing.Valid(r.Header.Get("traceparent")),
	}, nil
}
