package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/planner"
)

// post sends an event with further members in its body, and returns the status and the problems.
func (c *contracted) post(t *testing.T, token, id, eventType, more string) (status int, problems string) {
	t.Helper()
	body := fmt.Sprintf(`{"event_id":%q,"event_type":%q,"aggregate_type":"CUSTOMER","aggregate_id":42%s}`, id, eventType, more)
	_, answer, text := c.do(t, request{method: "POST", path: "/api/events", token: token, body: body})
	var said struct{ Detail, Problems any }
	require.NoError(t, json.Unmarshal(text, &said))
	return answer.StatusCode, fmt.Sprint(said.Detail, said.Problems)
}

// exec changes the rows of the gateway's database.
func (c *contracted) exec(t *testing.T, sql string) {
	t.Helper()
	_, err := c.store.Pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// What Postgres cannot store, or Herald cannot show, is the event's fault: 422, and never "send it
// again". What it can store is written.
func TestIngestOfValuesAtTheEdge(t *testing.T) {
	t.Parallel()

	c, all := newContracted(t), producerToken(t, "*")
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, tt := range map[string]struct {
		more string
		want int
	}{
		"number over numeric":       {`,"payload":{"n":1e131072}`, 422},
		"number under numeric":      {`,"payload":{"n":-1e999999}`, 422},
		"tiny number":               {`,"payload":{"n":1e-99999}`, 422},
		"largest number":            {`,"payload":{"n":1e1000}`, 201},
		"zero character":            {`,"payload":{"a":"\u0000"}`, 422},
		"lone surrogate":            {`,"payload":{"a":"\ud800"}`, 422},
		"infinity":                  {`,"payload":{},"expires_at":"infinity"`, 400},
		"never, far ahead":          {`,"payload":{},"expires_at":"9999-12-31T00:00:00Z"`, 201},
		"never, the last second":    {`,"payload":{},"expires_at":"9999-12-31T23:59:59Z"`, 201},
		"year 10000 in UTC":         {`,"payload":{},"expires_at":"9999-12-31T23:59:59-05:00"`, 422},
		"long expired":              {`,"payload":{},"expires_at":"1900-01-01T00:00:00Z"`, 201},
		"year 1":                    {`,"payload":{},"expires_at":"0001-01-01T00:00:00Z"`, 201},
		"year 0":                    {`,"payload":{},"expires_at":"0000-01-01T00:00:00Z"`, 201},
		"zero character in the key": {`,"payload":{},"collapse_key":"\u0000"`, 422},
	} {
		id := "edge-" + strings.ReplaceAll(name, " ", "-")
		for range 2 {
			status, problems := c.post(t, all, id, "RESERVATION_REQUESTED", tt.more)
			require.Equal(t, tt.want, status, name+problems)
			if tt.want == http.StatusCreated {
				tt.want = http.StatusOK // the same event
			}
		}
		status, _ := c.post(t, all, id, "UNROUTED", tt.more)
		require.Contains(t, []int{400, 409, 422}, status, name+" without routes")
	}
	status, _ := c.post(t, all, "edge-deep", "RESERVATION_REQUESTED", `,"payload":{"a":`+deep(9990)+`}`)
	require.Contains(t, []int{201, 422}, status, "it depends on the server's stack")
	var expired int
	require.NoError(t, c.store.Pool.QueryRow(t.Context(), "SELECT count(*) FROM event_outbox WHERE expires_at < now()").Scan(&expired))
	require.Equal(t, 3, expired)
}

// A producer cancels only events of the types in its token, also if the event comes later.
func TestIngestCancelsOwnTypes(t *testing.T) {
	t.Parallel()

	c := newContracted(t)
	postgrestest.Add(t, c.store.Pool, postgrestest.Route{EventType: "NEWS"})
	all, one := producerToken(t, "*"), producerToken(t, "RESERVATION_REQUESTED")
	cancelledBy := func(id string) (by string) {
		setup, err := planner.On(c.store).EventSetup(t.Context(), id)
		require.NoError(t, err)
		return setup.Event.CancelledBy
	}
	post := func(token, id, eventType, cancels string) int {
		more := `,"payload":{}`
		if cancels != "" {
			more += `,"cancels":"` + cancels + `"`
		}
		status, _ := c.post(t, token, id, eventType, more)
		return status
	}

	require.Equal(t, 201, post(all, "foreign", "NEWS", ""))
	require.Equal(t, 403, post(one, "c-1", "RESERVATION_REQUESTED", "foreign"))
	require.Empty(t, cancelledBy("foreign"))

	require.Equal(t, 201, post(one, "own", "RESERVATION_REQUESTED", ""))
	require.Equal(t, 201, post(one, "c-2", "RESERVATION_REQUESTED", "own"))
	require.Equal(t, "c-2", cancelledBy("own"))

	require.Equal(t, 201, post(one, "c-3", "RESERVATION_REQUESTED", "later-foreign"))
	require.Equal(t, 201, post(one, "c-4", "RESERVATION_REQUESTED", "later-own"))
	require.Equal(t, 201, post(all, "later-foreign", "NEWS", ""))
	require.Equal(t, 201, post(one, "later-own", "RESERVATION_REQUESTED", ""))
	require.Empty(t, cancelledBy("later-foreign"))
	require.Equal(t, "c-4", cancelledBy("later-own"))

	require.Equal(t, 201, post(all, "c-5", "RESERVATION_REQUESTED", "foreign"))
	require.Equal(t, "c-5", cancelledBy("foreign"))
}

// Texts are judged in the locales in use, and by rules that are at most a moment old. A refusal is
// always by the present rules.
func TestIngestJudgesTheLocalesInUse(t *testing.T) {
	t.Parallel()

	c, all := newContracted(t), producerToken(t, "*")
	c.exec(t, "DELETE FROM recipient; DELETE FROM notification_template")
	postgrestest.Add(t, c.store.Pool, postgrestest.Recipient{Locale: "it"}, postgrestest.Route{EventType: "NEWS"})
	tries := 0
	post := func() (int, string) {
		tries++
		return c.post(t, all, fmt.Sprint("n-", tries), "NEWS", `,"payload":{"a":1}`)
	}

	status, problems := post()
	require.Equal(t, 422, status)
	require.Contains(t, problems, "EMAIL: no template for NEWS/EMAIL/it")
	postgrestest.Add(t, c.store.Pool, postgrestest.Template{EventType: "NEWS", Locale: "it", Title: "Novità", Body: "{{.payload.a}}"})
	status, problems = post()
	require.Equal(t, 201, status, problems)
	c.exec(t, "UPDATE notification_template SET body = '{{.payload.b}}'")
	postgrestest.Add(t, c.store.Pool, postgrestest.Recipient{UserID: "2", Locale: "de"})
	require.Eventually(t, func() bool { status, problems = post(); return status == 422 }, time.Minute, 100*time.Millisecond)
	require.Contains(t, problems, "NEWS/*/it")
	require.Contains(t, problems, "no template for NEWS/EMAIL/de")
	c.exec(t, "UPDATE notification_template SET body = 'b'")
	postgrestest.Add(t, c.store.Pool, postgrestest.Template{EventType: "NEWS", Title: "News", Body: "News"})
	status, problems = post()
	require.Equal(t, 201, status, problems)
}
