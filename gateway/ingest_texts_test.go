package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// A producer hears what its payload would do to the event's texts and times: a number that does not fit
// its format, a link that is blocked, a time that nobody can read.
func TestIngestOfUnfitPayloads(t *testing.T) {
	t.Parallel()

	c, token := newContracted(t), producerToken(t, "*")
	postgrestest.Add(t, c.store.Pool,
		postgrestest.Route{EventType: "REMINDER", Strategy: notification.Delayed, SendAtPath: "at"},
		postgrestest.Template{
			EventType: "REMINDER", Channel: notification.Email, Title: `{{printf "%.2f" .payload.total}}`,
			Body: `<a href="{{.payload.link}}">{{if gt .payload.total 10}}much{{end}}</a>`,
		})
	const noZone = "EMAIL: send_at_path: at is not a time with a zone"
	const noNumber = `EMAIL: template REMINDER/EMAIL/en: title: key "total" does not fit the format of its printf`
	const noPath = "EMAIL: send_at_path: at is not in the payload"
	const link = "template REMINDER/EMAIL/en: body: key \"link\" is not a link that is allowed"
	n := 0
	for payload, want := range map[string]string{
		`{"total":12,"link":"https://shop.example","at":"2026-12-24T18:00:00.000+0000"}`:           "",
		`{"total":12.5,"link":"tel:+41791234567","at":"2026-12-24T18:00:00+01:00[Europe/Rome]"}`:   "",
		`{"total":1e3,"link":"/orders/7","at":"2026-12-24 18:00:00+01"}`:                           "",
		`{"total":9223372036854775808,"link":"cid:logo","at":1798135200000}`:                       "",
		`{"total":12,"link":"https://shop.example","at":"2026-12-24T18:00:00"}`:                    noZone,
		`{"total":12,"link":"https://shop.example","at":20261224}`:                                 noZone,
		`{"total":12,"link":"https://shop.example"}`:                                               noPath,
		`{"total":"12","link":"https://shop.example","at":1798135200}`:                             noNumber,
		`{"total":12,"link":"otherapp://x","at":"1798135200"}`:                                     "EMAIL: " + link,
		`{"total":12,"link":"javascript:alert(1)","at":1798135200}`:                                "EMAIL: " + link,
		`{"total":12,"link":"https://shop.example","at":"2026-12-24T18:00:00Z","more":"50%!d(x)"}`: "",
	} {
		n++
		body := fmt.Sprintf(`{"event_id":"unfit-%d","event_type":"REMINDER","aggregate_type":"CUSTOMER","aggregate_id":42,"payload":%s}`, n,
			payload)
		_, answer, text := c.do(t, request{method: "POST", path: "/api/events", token: token, body: body})
		if want == "" {
			require.Equal(t, 201, answer.StatusCode, "%s: %s", payload, text)
			continue
		}
		require.Equal(t, 422, answer.StatusCode, "%s: %s", payload, text)
		var said struct{ Problems []string }
		require.NoError(t, json.Unmarshal(text, &said))
		require.Len(t, said.Problems, 1, payload)
		require.Contains(t, said.Problems[0], want)
		require.NotContains(t, string(text), "otherapp", "it does not quote the payload")
	}
}

// An id keeps all its digits, as a number and as a text.
func TestIngestOfLargeIDs(t *testing.T) {
	t.Parallel()

	c, token := newContracted(t), producerToken(t, "*")
	for id, want := range map[string]string{"653247040368672768": "653247040368672768", "18446744073709551615": "18446744073709551615",
		`"0042"`: "0042", "-7": "-7"} {
		body := fmt.Sprintf(`{"event_id":%q,"event_type":"RESERVATION_REQUESTED","aggregate_type":"CUSTOMER","aggregate_id":%s,`+
			`"payload":{"id":%s}}`,
			"large"+want, id, id)
		_, answer, text := c.do(t, request{method: "POST", path: "/api/events", token: token, body: body})
		require.Equal(t, 201, answer.StatusCode, "%s: %s", id, text)
		var stored string
		require.NoError(t, c.store.Pool.QueryRow(t.Context(),
			"SELECT aggregate_id || ' ' || (payload ->> 'id') FROM event_outbox WHERE event_id = $1", "large"+want).Scan(&stored))
		require.Equal(t, want+" "+want, stored)
	}
	for _, id := range []string{"1.5", "1e3", "{}"} {
		body := fmt.Sprintf(`{"event_id":"no-id","event_type":"RESERVATION_REQUESTED","aggregate_type":"CUSTOMER","aggregate_id":%s,`+
			`"payload":{}}`, id)
		_, answer, text := c.do(t, request{method: "POST", path: "/api/events", token: token, body: body})
		require.Equal(t, 400, answer.StatusCode, "%s: %s", id, text)
	}
}
