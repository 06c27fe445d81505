package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/answer"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/web/problem"
)

// asked requests a page, and returns the answer with its body.
func (d *desk) asked(method, path, accept string) (*http.Response, string) {
	d.t.Helper()
	request := must(http.NewRequestWithContext(d.t.Context(), method, d.server.URL+path, nil))(d.t)
	request.Header.Set("Accept", accept)
	response := must(http.DefaultClient.Do(request))(d.t)
	defer func() { _ = response.Body.Close() }()
	return response, string(must(io.ReadAll(response.Body))(d.t))
}

// A program gets the data of a page, without anything private.
func TestJSON(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	const private = "zz-private@example.com"
	postgrestest.Add(t, d.store.Pool,
		postgrestest.Recipient{UserID: "7", Name: private, Email: private},
		postgrestest.Event{ID: "evt-1", Type: "NEWS", AggregateType: "BROADCAST", AggregateID: "0", Payload: `{"text": "` + private + `"}`,
			Status: notification.OutboxFailed},
		postgrestest.Route{EventType: "NEWS"},
		postgrestest.Delivery{ID: "d1", EventID: "evt-1", EventType: "NEWS", UserID: "7", Title: private, Body: private, Address: private,
			Status: notification.Failed, LastError: private})
	postgrestest.Exec(t, d.store, `UPDATE event_outbox SET error_message = $1`, private)
	postgrestest.Exec(t, d.store, `INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		VALUES ('evt-1', 'CUSTOMER', '7', '{"EMAIL": "SELECTED", "SMS": "NO_ADDRESS"}')`)
	postgrestest.Exec(t, d.store, `INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, detail)
		VALUES ('sendgrid', '1', 'd1', now(), $1, $1)`, private)

	for _, tt := range []struct {
		method, path string
		into         any
	}{
		{http.MethodGet, "/", new(answer.Status)},
		{http.MethodGet, "/event?id=evt-1", new(answer.Event)},
		{http.MethodGet, "/simulation?id=evt-1", new(answer.Simulation)},
		{http.MethodGet, "/delivery?id=d1", new(answer.Why)},
		{http.MethodGet, "/why?event=evt-1&recipient=CUSTOMER%2F7&channel=SMS", new(answer.Why)},
		{http.MethodGet, "/recipient?type=CUSTOMER&id=7", new(answer.Why)},
		{http.MethodPost, "/check", new(answer.Check)},
	} {
		response, body := d.asked(tt.method, tt.path, "application/json")
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", tt.path, body)
		require.Equal(t, "application/json", response.Header.Get("Content-Type"), tt.path)
		require.Equal(t, "Accept", response.Header.Get("Vary"), tt.path)
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(tt.into), tt.path)
		require.NotContains(t, body, "zz-private", tt.path)
		require.NotContains(t, body, "<script", tt.path)
	}

	for path, status := range map[string]int{
		"/event?id=none": http.StatusNotFound, "/delivery?id=none": http.StatusNotFound, "/nowhere": http.StatusNotFound,
		"/events": http.StatusNotAcceptable, "/audit": http.StatusNotAcceptable, "/templates": http.StatusNotAcceptable,
		"/recipient?type=CUSTOMER": http.StatusUnprocessableEntity,
	} {
		response, body := d.asked(http.MethodGet, path, "application/json")
		require.Equal(t, status, response.StatusCode, "%s: %s", path, body)
		require.Equal(t, problem.ContentType, response.Header.Get("Content-Type"), path)
		require.Equal(t, status, decoded[problem.Problem](t, body).Status, path)
	}
	for _, accept := range []string{
		"", "*/*", "text/html,application/xhtml+xml,*/*;q=0.8", "text/html, application/json", "application/json;q=0", "nonsense;;",
	} {
		response, _ := d.asked(http.MethodGet, "/event?id=evt-1", accept)
		require.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"), accept)
	}
}

func decoded[T any](t *testing.T, text string) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}
