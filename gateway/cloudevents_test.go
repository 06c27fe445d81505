package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
)

const requested = "RESERVATION_REQUESTED"

// postCloudEvent sends an event with attributes, in binary mode if there is no content type.
func (c *contracted) postCloudEvent(t *testing.T, contentType string, attributes map[string]string, data string) (status int, text string) {
	t.Helper()
	r := request{method: "POST", path: "/api/events", token: producerToken(t, requested), body: data, header: http.Header{}}
	if r.contentType = contentType; contentType == "" {
		r.contentType = "application/json"
		for name, value := range attributes {
			r.header.Set("ce-"+name, value)
		}
	} else {
		body := map[string]any{}
		for name, value := range attributes {
			body[name] = value
		}
		if data != "" {
			body["data"] = json.RawMessage(data)
		}
		encoded, err := json.Marshal(body)
		require.NoError(t, err)
		r.body = string(encoded)
	}
	_, answer, said := c.do(t, r)
	return answer.StatusCode, string(said)
}

// A CloudEvent of both modes becomes the same event, and its repetition in any form is known.
func TestIngestOfCloudEvents(t *testing.T) {
	t.Parallel()

	c := newContracted(t)
	attributes := map[string]string{
		"specversion": "1.0", "id": "ce-1", "source": "/orders", "type": requested, "subject": "RESTAURANT/5/1", "time": "2026-12-01T15:00:00Z",
		"datacontenttype": "application/json", "correlationid": "c-1", "collapsekey": "k", "expiresat": "2040-01-01T00:00:00Z",
		"actor": "RESTAURANT_USER/10", "exclude": "RESTAURANT_USER/11,ADMIN/1", "unknownextension": "x",
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	status, text := c.postCloudEvent(t, "application/cloudevents+json; charset=utf-8", attributes, `{"a": 1}`)
	require.Equal(t, 201, status, text)
	require.JSONEq(t, `{"event_id": "ce-1"}`, text)
	require.Equal(t, []string{"RESTAURANT 5/1 {\"a\": 1} c-1 k 2040-01-01 RESTAURANT_USER/10 {RESTAURANT_USER/11,ADMIN/1} 00-0af"},
		postgrestest.List(t, c.store, `SELECT concat_ws(' ', aggregate_type, aggregate_id, payload, correlation_id, collapse_key,
			to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), actor_type || '/' || actor_id, exclude, left(traceparent, 6)) FROM event_outbox
			WHERE event_id = 'ce-1'`))

	status, text = c.postCloudEvent(t, "", attributes, `{"a":1}`)
	require.Equal(t, 200, status, text)
	status, text = c.postCloudEvent(t, "", attributes, `{"a":2}`)
	require.Equal(t, 409, status, text)

	attributes["id"], attributes["collapsekey"] = "ce-2", "caf%C3%A9"
	delete(attributes, "datacontenttype")
	status, text = c.postCloudEvent(t, "", attributes, "")
	require.Equal(t, 201, status, text)
	require.Equal(t, "{} café", postgrestest.Get[string](t, c.store,
		"SELECT payload::text || ' ' || collapse_key FROM event_outbox WHERE event_id = 'ce-2'"))
}

// A wrong CloudEvent is refused, with what to correct.
func TestIngestOfWrongCloudEvents(t *testing.T) {
	t.Parallel()

	c := newContracted(t)
	const json, batch, avro = "application/cloudevents+json", "application/cloudevents-batch+json", "application/cloudevents+avro"
	for name, tt := range map[string]struct {
		contentType string
		change      map[string]string
		data        string
		status      int
		want        string
	}{
		"version":        {json, map[string]string{"specversion": "0.3"}, `{}`, 400, "specversion must be 1.0"},
		"no version":     {json, map[string]string{"specversion": ""}, `{}`, 400, "specversion must be 1.0"},
		"no id":          {json, map[string]string{"id": ""}, `{}`, 400, "lacks id"},
		"no source":      {"", map[string]string{"source": ""}, `{}`, 400, "lacks source"},
		"no type":        {json, map[string]string{"type": ""}, `{}`, 400, "lacks type"},
		"another type":   {json, map[string]string{"type": "NEWS"}, `{}`, 403, "does not name this event type"},
		"no subject":     {json, map[string]string{"subject": ""}, `{}`, 400, "subject must be TYPE/ID, the aggregate"},
		"subject":        {"", map[string]string{"subject": "7"}, `{}`, 400, "subject must be TYPE/ID, the aggregate"},
		"time":           {json, map[string]string{"time": "today"}, `{}`, 400, "time must be a time such as"},
		"expiry":         {json, map[string]string{"expiresat": "today"}, `{}`, 400, "expiresat must be a time such as"},
		"actor":          {json, map[string]string{"actor": "10"}, `{}`, 400, "actor must be TYPE/ID"},
		"exclude":        {json, map[string]string{"exclude": "10"}, `{}`, 422, "exclude has at most 100 texts such as"},
		"encoding":       {"", map[string]string{"id": "%zz"}, `{}`, 400, "Ce-Id must be percent-encoded UTF-8"},
		"no UTF-8":       {"", map[string]string{"id": "%ff"}, `{}`, 400, "Ce-Id must be percent-encoded UTF-8"},
		"binary data":    {json, map[string]string{"data_base64": "AA=="}, ``, 400, "Herald takes JSON in data"},
		"XML":            {json, map[string]string{"datacontenttype": "text/xml"}, `"<a/>"`, 415, "data must be application/json"},
		"no object":      {json, nil, `[1]`, 422, "the payload is not a JSON object"},
		"half of a data": {"", nil, `{"a":`, 400, "data is not JSON"},
		"batch":          {batch, nil, `{}`, 415, "send each event in a request"},
		"avro":           {avro, nil, `{}`, 415, "Herald takes application/cloudevents+json, or binary mode"},
		"large":          {json, nil, `{"a":"` + strings.Repeat("x", 256<<10) + `"}`, 413, "256 KiB"},
		"large, binary":  {"", nil, `{"a":"` + strings.Repeat("x", 256<<10) + `"}`, 413, "256 KiB"},
	} {
		attributes := map[string]string{"specversion": "1.0", "id": "ce-1", "source": "/orders", "type": requested, "subject": "CUSTOMER/7"}
		for name, value := range tt.change {
			attributes[name] = value
		}
		status, text := c.postCloudEvent(t, tt.contentType, attributes, tt.data)
		require.Equal(t, tt.status, status, name+text)
		require.Contains(t, text, tt.want, name)
	}
	for body, want := range map[string]string{
		`[{"specversion":"1.0"}]`:      "cannot be a JSON array",
		`{"specversion":1.0}`:          "specversion must be a JSON string",
		`{"specversion":"1.0","id":7}`: "id must be a JSON string",
		`{"specversion"`:               "not JSON",
	} {
		_, answer, text := c.do(t, request{method: "POST", path: "/api/events", token: producerToken(t, "*"), body: body,
			contentType: "application/cloudevents+json"})
		require.Equal(t, 400, answer.StatusCode, body)
		require.Contains(t, string(text), want)
	}
}

// A payload that its type's schema refuses is refused with the place of each mistake, by a schema that is at
// most a moment old.
func TestIngestChecksTheSchemaOfPayloads(t *testing.T) {
	t.Parallel()

	c, all := newContracted(t), producerToken(t, "*")
	postgrestest.Add(t, c.store.Pool, postgrestest.Schema{EventType: requested, PayloadSchema: `{"required": ["guests"],
		"properties": {"guests": {"type": "integer"}, "table": {"$ref": "#/$defs/table"}}, "$defs": {"table": {"enum": ["A", "B"]}}}`})
	status, problems := c.post(t, all, "s-1", requested, `,"payload":{"guests":4,"table":"A"}`)
	require.Equal(t, 201, status, problems)
	status, problems = c.post(t, all, "s-2", requested, `,"payload":{"guests":"four","table":"C"}`)
	require.Equal(t, 422, status)
	require.Contains(t, problems, "payload /guests: must be integer, and is string")
	require.Contains(t, problems, `payload /table: must be one of ["A","B"]`)
	status, problems = c.post(t, all, "s-3", requested, `,"payload":{}`)
	require.Equal(t, 422, status)
	require.Contains(t, problems, "payload /guests: is missing")

	c.exec(t, `UPDATE event_type_schema SET payload_schema = '{"required": ["name"]}'`)
	status, problems = c.post(t, all, "s-1", requested, `,"payload":{"guests":4,"table":"A"}`)
	require.Equal(t, 200, status, "it is known: "+problems)
	status, problems = c.post(t, all, "s-4", requested, `,"payload":{"name":"Ada"}`)
	require.Equal(t, 201, status, problems)
	c.exec(t, `UPDATE event_type_schema SET payload_schema = '{"type": "int"}'`)
	require.Eventually(t, func() bool {
		status, problems = c.post(t, all, "s-4", requested, `,"payload":{"x":1}`)
		return status == 422
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, problems, "payload_schema is no JSON Schema")
}
