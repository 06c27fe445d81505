package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/event"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/outbox"
)

func TestShowEventWithoutTemporal(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.must(t, "emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", "{}", "--event-id", "evt-1")

	view := read[explain.EventView](t, c, "event", "show", "evt-1")
	require.Equal(t, notification.OutboxPending, view.Outbox.Status)
	require.Nil(t, view.Processed)
	require.Equal(t, explain.Unreachable, view.Workflow.Status)
	require.Contains(t, view.Workflow.Note, "Temporal is out of reach")

	out := c.must(t, "event", "show", "evt-1")
	require.Contains(t, out, "PENDING, claims: 0")
	require.Contains(t, out, "none: its workflow was not started yet")
	require.Contains(t, out, explain.Unreachable)

	must(event.On(c.store(t)).FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Success: true, Outcome: "NO_RECIPIENTS"}))(t)
	require.EqualValues(t, "NO_RECIPIENTS", read[explain.EventView](t, c, "event", "show", "evt-1").Processed.Outcome)
	require.EqualValues(t, "NO_RECIPIENTS", read[struct{ Events []list.EventRow }](t, c, "event", "list").Events[0].Outcome)
}

func TestCheckObject(t *testing.T) {
	t.Parallel()

	for payload, want := range map[string]string{ // "" if accepted
		`{}`:                        "",
		` {"a": [1, {"b": null}]} `: "",
		``:                          "is not JSON: unexpected end of JSON input, at byte 0",
		`null`:                      `must be a JSON object, such as {"restaurantId":5}`,
		`5`:                         `must be a JSON object, such as {"restaurantId":5}`,
		`[{}]`:                      `must be a JSON object, such as {"restaurantId":5}`,
		`{"a":`:                     "is not JSON: unexpected end of JSON input, at byte 5",
		`{a:1}`:                     "is not JSON: invalid character 'a' looking for beginning of object key string, at byte 2",
		`{} {}`:                     "is not JSON: invalid character '{' after top-level value, at byte 4",
	} {
		err := checkObject([]byte(payload))
		require.Equal(t, want == "", err == nil, payload)
		if err != nil {
			require.EqualError(t, err, want, payload)
		}
	}
}

func TestPayloadSources(t *testing.T) {
	t.Parallel()

	path := filepath.Join(t.TempDir(), "payload.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"from":"file"}`), 0o600))
	a := &app{in: strings.NewReader(`{"from":"stdin"}`)}

	for flag, want := range map[string]string{"{}": "{}", "-": `{"from":"stdin"}`, "@" + path: `{"from":"file"}`} {
		require.Equal(t, want, string(must(a.payload(flag))(t)))
	}
	require.NoError(t, os.Truncate(path, maxPayload+1))
	_, err := a.payload("@" + path)
	require.ErrorContains(t, err, "larger than 1 MiB")
	_, err = (&app{in: bytes.NewReader(make([]byte, maxPayload+1))}).payload("-")
	require.ErrorContains(t, err, "larger than 1 MiB")
	_, err = a.payload("@" + filepath.Dir(path))
	require.ErrorContains(t, err, "read: ")
}

// batches is an outbox that refuses each batch with the event `refuse`.
type batches struct {
	sizes  []int
	ids    []string
	refuse string
}

var errRefused = errors.New("refused")

func (b *batches) InsertEvents(_ context.Context, events []outbox.Event) error {
	for _, event := range events {
		if event.ID == b.refuse {
			return errRefused
		}
	}
	b.sizes = append(b.sizes, len(events))
	for _, event := range events {
		b.ids = append(b.ids, event.ID)
	}
	return nil
}

func TestInsertInBatches(t *testing.T) {
	t.Parallel()

	large := json.RawMessage(`{"a":"` + strings.Repeat("x", 200<<10) + `"}`)
	tests := []struct {
		name    string
		payload json.RawMessage
		count   int
		want    []int
	}{
		{name: "one", payload: json.RawMessage(`{}`), count: 1, want: []int{1}},
		{name: "a batch", payload: json.RawMessage(`{}`), count: 1000, want: []int{1000}},
		{name: "more", payload: json.RawMessage(`{}`), count: 2001, want: []int{1000, 1000, 1}},
		{name: "large payloads", payload: large, count: 50, want: []int{40, 10}},
	}
	for _, tt := range tests {
		db, ids := &batches{}, eventIDs("evt", tt.count)
		require.NoError(t, (&app{}).insert(t.Context(), db, outbox.Event{Payload: tt.payload}, ids, batchSize(tt.payload)), tt.name)
		require.Equal(t, tt.want, db.sizes, tt.name)
		require.Equal(t, ids, db.ids, tt.name)
	}
}

func TestInsertCountsWrittenEventsAfterAnError(t *testing.T) {
	t.Parallel()

	event := outbox.Event{Payload: json.RawMessage(`{}`)}
	err := (&app{}).insert(t.Context(), &batches{refuse: "evt-1500"}, event, eventIDs("evt", 2000), maxBatchEvents)
	require.ErrorIs(t, err, errRefused)
	require.EqualError(t, err, "after the first 1000 of 2000 events: refused")

	err = (&app{}).insert(t.Context(), &batches{refuse: "evt-1"}, event, eventIDs("evt", 2000), maxBatchEvents)
	require.EqualError(t, err, "refused")
}

func TestEmit(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.in = `{"restaurantId":5}`
	args := []string{"emit", "--type", "RESERVATION_REQUESTED", "--aggregate-type", "RESERVATION", "--aggregate-id", "100"}

	id := strings.TrimSpace(c.must(t, append(args, "--payload", "-", "--correlation-id", "order-1")...))
	require.Regexp(t, `^evt-[0-9a-f-]{36}$`, id)

	var ids []string
	require.NoError(t,
		json.Unmarshal([]byte(c.must(t, append(args, "--payload", "{}", "--event-id", "mine", "--count", "1200", "-o", "json")...)), &ids))
	require.Len(t, ids, 1200)
	require.Equal(t, []string{"mine-1", "mine-1200"}, []string{ids[0], ids[1199]})

	view := read[explain.EventView](t, c, "event", "show", id)
	require.Equal(t, "order-1", view.Outbox.CorrelationID)
	require.Equal(t, "RESERVATION", view.Outbox.AggregateType)

	require.Equal(t, 1201, read[statusView](t, c, "status").Pending)

	got := c.fails(t, failed, "error: event_outbox refuses the event: there is an event with this id already",
		append(args, "--payload", "{}", "--event-id", "mine-7")...)
	require.Contains(t, got.err, "next: correct the event, or choose another --event-id")
}

func TestPayloadStaysOutOfErrors(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	for _, payload := range []string{
		`{"email":"ada@example.com","x":"\u0000"}`, fmt.Sprintf(`{"email":"ada@example.com","x":%q}`, strings.Repeat("x", 300<<10)),
	} {
		got := c.run(t, "emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", payload)
		require.Equal(t, failed, got.code)
		require.NotContains(t, got.err, "ada@example.com")
	}
}
