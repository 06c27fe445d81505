package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"herald/internal/event"
	"herald/internal/terminal"
	"herald/outbox"
)

const (
	emitTimeout = 15 * time.Minute
	maxEmits    = 1_000_000
	// A batch is one transaction. These are its maximum numbers of events and of payload bytes.
	maxBatchEvents, maxBatchBytes = 1000, 8 << 20
)

// emission is the input of `starter emit`.
type emission struct {
	event   outbox.Event
	payload string        // as given on the command line
	actor   string        // TYPE/ID; empty: unknown
	expires time.Duration // 0: no limit
	count   int
}

func emitCommand(a *app) *cobra.Command {
	var e emission
	cmd := &cobra.Command{
		Use:   "emit",
		Short: "Write events into the outbox, as a business service would",
		Long: `Write one event into event_outbox, or many that differ only in their ids: ID-1, ID-2, …
One transaction writes up to 1,000 events.`,
		Example: `  starter emit --type RESERVATION_REQUESTED --aggregate-type RESERVATION --aggregate-id 100 \
    --payload '{"restaurantId":5,"customer":{"name":"Ada"},"pax":4,"date":"2026-12-20","time":"19:30"}'
  starter emit --type PROMOTION --aggregate-type BROADCAST --aggregate-id 0 --payload @promotion.json --count 100`,
		RunE: a.within(emitTimeout, func(ctx context.Context, _ []string) error { return a.emit(ctx, e) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&e.event.Type, "type", "", "what happened: RESERVATION_REQUESTED")
	terminal.Complete(cmd, "type", completeEventTypes(a))
	flags.StringVar(&e.event.AggregateType, "aggregate-type", "", "who acts: RESTAURANT, CUSTOMER, AGENCY, ADMIN, BROADCAST, or one of yours")
	flags.StringVar(&e.event.AggregateID, "aggregate-id", "", "the id of the aggregate")
	flags.StringVar(&e.payload, "payload", "", "a JSON object; @FILE reads it from a file, - from the standard input")
	flags.StringVar(&e.event.ID, "event-id", "", "the event's id (default: evt- and a random UUID)")
	flags.StringVar(&e.event.CorrelationID, "correlation-id", "", "an id that messages and histories also get")
	flags.StringVar(&e.event.Cancels, "cancels", "",
		"the id of an event to cancel: its unsent deliveries are cancelled, even if it is written later")
	flags.StringVar(&e.event.CollapseKey, "collapse-key", "", "the event replaces older events of its type with the same key: order-7")
	flags.StringVar(&e.actor, "actor", "", "who caused the event and is not told about it, as RESTAURANT_USER/10")
	flags.StringSliceVar(&e.event.Exclude, "exclude", nil, "more people who are not told, as RESTAURANT_USER/10,RESTAURANT_USER/11")
	flags.StringVar(&e.event.Traceparent, "traceparent", "", "a W3C traceparent: the event's spans continue its trace")
	flags.DurationVar(&e.expires, "expires-in", 0, "the time until the event expires: 10m (default: no limit)")
	flags.IntVar(&e.count, "count", 1, "how many events to write, up to 1,000,000")
	terminal.Require(cmd, "type", "aggregate-type", "aggregate-id", "payload")
	return cmd
}

func (a *app) emit(ctx context.Context, e emission) error {
	if e.count < 1 || e.count > maxEmits {
		return misused(fmt.Errorf("--count must be from 1 to %d", maxEmits))
	}
	if e.expires < 0 {
		return misused(errors.New("--expires-in must be a time like 10m"))
	}
	if e.expires > 0 {
		e.event.ExpiresAt = time.Now().Add(e.expires)
	}
	if e.actor != "" {
		var isKey bool
		if e.event.ActorType, e.event.ActorID, isKey = strings.Cut(e.actor, "/"); !isKey {
			return misused(errors.New("--actor must be a user type and an id, such as RESTAURANT_USER/10"))
		}
	}
	payload, err := a.payload(e.payload)
	if err != nil {
		return misused(fmt.Errorf("--payload: %w", err))
	}
	e.event.Payload = json.RawMessage(payload)
	if e.event.ID == "" {
		e.event.ID = "evt-" + uuid.NewString()
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	ids := eventIDs(e.event.ID, e.count)
	if err := a.record(ctx, db, fmt.Sprintf("%s of %s/%s, %d", e.event.Type, e.event.AggregateType, e.event.AggregateID, e.count),
		e.event.ID); err != nil {
		return err
	}
	if err := a.insert(ctx, event.On(db), e.event, ids, batchSize(payload)); err != nil {
		return err
	}
	return a.Print(ids, func(w io.Writer) {
		for _, id := range ids {
			terminal.Row(w, id)
		}
	})
}

// maxPayload is the maximum number of bytes to read; event_outbox takes 256 KiB.
const maxPayload = 1 << 20

// payload reads a JSON object from the flag's text, a file or the standard input.
func (a *app) payload(flag string) ([]byte, error) {
	source := io.Reader(strings.NewReader(flag))
	switch path, isFile := strings.CutPrefix(flag, "@"); {
	case flag == "-":
		source = a.in
	case isFile:
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		defer func() { _ = file.Close() }()
		source = file
	}
	read, err := io.ReadAll(io.LimitReader(source, maxPayload+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read: %w", err)
	case len(read) > maxPayload:
		return nil, errors.New("is larger than 1 MiB; event_outbox takes 256 KiB")
	}
	return read, checkObject(read)
}

// checkObject accepts one JSON object.
func checkObject(payload []byte) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal(payload, &object)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("is not JSON: %w, at byte %d", err, syntax.Offset)
	case err != nil || object == nil:
		return errors.New(`must be a JSON object, such as {"restaurantId":5}`)
	default:
		return nil
	}
}

// eventIDs returns id for one event, or id with the suffixes -1 to -count for several.
func eventIDs(id string, count int) []string {
	if count == 1 {
		return []string{id}
	}
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%d", id, i+1)
	}
	return ids
}

// batchSize returns the number of events with this payload to write in one transaction.
func batchSize(payload []byte) int {
	return min(maxBatchEvents, max(1, maxBatchBytes/max(1, len(payload))))
}

// eventWriter is the part of the store that inserts events.
type eventWriter interface {
	InsertEvents(ctx context.Context, events []outbox.Event) error
}

// insert writes the events in batches of size. If a later batch fails, the error counts the events
// that are already written.
func (a *app) insert(ctx context.Context, db eventWriter, event outbox.Event, ids []string, size int) error {
	var done atomic.Int64
	defer a.Progress(func() string { return fmt.Sprintf("%d of %d events written", done.Load(), len(ids)) })()
	for written := 0; written < len(ids); done.Store(int64(written)) {
		batch := ids[written:min(written+size, len(ids))]
		events := make([]outbox.Event, len(batch))
		for i, id := range batch {
			events[i] = event
			events[i].ID = id
		}
		if err := db.InsertEvents(ctx, events); err != nil {
			if written > 0 {
				return fmt.Errorf("after the first %d of %d events: %w", written, len(ids), err)
			}
			return err
		}
		written += len(batch)
	}
	return nil
}
