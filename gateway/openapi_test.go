package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"herald/internal/web/signin"
	"herald/tools/sandbox"
)

// TestOpenAPI checks the server against its OpenAPI document: each path answers with every status
// in the document, and with no other status.
func TestOpenAPI(t *testing.T) {
	t.Parallel()

	openapi3filter.RegisterBodyDecoder("text/xml", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/cloudevents+json", openapi3filter.JSONBodyDecoder)
	g, away, busy := newContracted(t), newContracted(t), newContractedWith(t, signin.Share{})
	away.store.Close()
	contract := readContract(t, g)
	settings, err := readSettings(contractedSettings())
	require.NoError(t, err)
	for _, receiver := range settings.providers.Receivers("") {
		require.NotNil(t, contract.document.Paths.Value(receiver.Path), receiver.Path)
	}
	g.muteMost("11")
	mine, others := g.notify("10", 3), g.notify("11", 1)
	signedIn := token(t, "10")
	t.Run("answers", func(t *testing.T) {
		for _, tt := range contractCases(mine, others[0]) {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()

				tt.request.token = signedIn
				contract.check(t, g, tt.request, tt.want)
			})
		}
		for _, tt := range slices.Concat(eventCases(t), webhookCases(), linkCases(), sessionCases(g.code(t, signedIn))) {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()

				contract.check(t, g, tt.request, tt.want)
				if tt.want < 300 {
					contract.check(t, away, tt.request, 503)
				}
				if tt.want < 300 && (strings.Contains(tt.request.path, "?token=") || tt.request.path == "/api/events") {
					contract.check(t, busy, tt.request, 429)
				}
			})
		}
		for _, operation := range contract.operations() {
			t.Run(operation.method+operation.path, func(t *testing.T) {
				t.Parallel()

				contract.check(t, g, operation, 401)
				operation.token = signedIn
				contract.check(t, away, operation, 503)
				contract.check(t, busy, operation, 429)
				operation.origin = "https://elsewhere.example.com"
				contract.check(t, g, operation, 403)
			})
		}
	})

	contract.check(t, g, request{method: "GET", path: "/ws", token: signedIn}, 426)
	socket, _, err := websocket.Dial(t.Context(), g.URL+"/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + signedIn}}})
	require.NoError(t, err)
	require.NoError(t, socket.CloseNow())
	posted, err := http.Post(g.URL+"/ws", "", nil)
	require.NoError(t, err)
	require.NoError(t, posted.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode)
	contract.seen[outcome("GET", "/ws", http.StatusSwitchingProtocols)] = true
	require.Empty(t, contract.unseen(), "the document has answers that no request got")
}

// contract is the OpenAPI document of a gateway, with the answers that the test has seen.
type contract struct {
	document *openapi3.T
	router   routers.Router
	mu       sync.Mutex
	seen     map[string]bool
}

func readContract(t *testing.T, g *contracted) *contract {
	t.Helper()
	_, answer, body := g.do(t, request{method: "GET", path: "/openapi.json"})
	require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	document, err := openapi3.NewLoader().LoadFromData(body)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	require.Equal(t, "3.1.0", document.OpenAPI)
	router, err := gorillamux.NewRouter(document)
	require.NoError(t, err)
	return &contract{document: document, router: router, seen: map[string]bool{}}
}

// check sends a request and validates the answer against the document. If the request succeeds, it
// must be valid, too.
func (c *contract) check(t *testing.T, g *contracted, r request, want int) {
	t.Helper()
	sent, answer, body := g.do(t, r)
	require.Equal(t, want, answer.StatusCode, "%s", body)
	sent.URL.Scheme, sent.URL.Host = "", ""
	route, parameters, err := c.router.FindRoute(sent)
	require.NoError(t, err)
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true, RejectWhenRequestBodyNotSpecified: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
	input := &openapi3filter.RequestValidationInput{Request: sent, PathParams: parameters, Route: route, Options: options}
	if want < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), input))
	}
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answer.StatusCode, Header: answer.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: options,
	}))
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	if want == http.StatusNoContent {
		require.Empty(t, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[outcome(sent.Method, route.Path, want)] = true
}

func outcome(method, path string, status int) string {
	return fmt.Sprint(method, " ", path, " ", status)
}

// operations returns a valid request for each operation in the document that needs a signed-in
// user.
func (c *contract) operations() []request {
	var all []request
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Security != nil && path != "/ws" {
				continue // a recipient's sign-in is not needed
			}
			r := request{method: method, path: strings.Replace(path, "{id}", "7", 1)}
			switch {
			case method == http.MethodPut:
				r.body = "{}"
			case strings.HasSuffix(path, "/read-all"):
				r.path += "?until=7"
			}
			all = append(all, r)
		}
	}
	return all
}

// unseen returns the answers in the document that the test has not seen.
func (c *contract) unseen() []string {
	var unseen []string
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				if key := method + " " + path + " " + status; !c.seen[key] {
					unseen = append(unseen, key)
				}
			}
		}
	}
	slices.Sort(unseen)
	return unseen
}

// contractCase is a request and the expected status of its answer.
type contractCase struct {
	name    string
	request request
	want    int
}

// browser returns the registration of a browser that has subscribed at an address.
func browser(address string) string {
	return fmt.Sprintf(`{"kind":"webpush","token":%q}`, sandbox.Subscription(address, "1"))
}

// contractCases returns valid and invalid requests for every path of a signed-in user. The user has
// the three notifications in mine; another user has the notification theirs.
func contractCases(mine []int64, theirs int64) []contractCase {
	path := func(format string, id int64) string { return fmt.Sprintf(format, id) }
	const (
		list, count, all = "/api/notifications", "/api/notifications/unread-count", "/api/notifications/read-all"
		preferences      = "/api/preferences"
		ticket           = "/api/ws-ticket"
		code             = "/api/inbox-code"
		devices          = "/api/devices"
		follows, mutes   = "/api/follows", "/api/mutes"
	)
	long := strings.Repeat(" ", 64<<10) + "{}"
	return []contractCase{
		{"list", request{method: "GET", path: list}, 200},
		{"list, a page of unread notifications", request{method: "GET", path: path(list+"?unread=true&limit=1&before=%d", mine[2])}, 200},
		{"list, limit too large", request{method: "GET", path: list + "?limit=101"}, 400},
		{"list, limit too small", request{method: "GET", path: list + "?limit=0"}, 400},
		{"list, limit not a number", request{method: "GET", path: list + "?limit=many"}, 400},
		{"list, limit empty", request{method: "GET", path: list + "?limit="}, 400},
		{"list, unread not a boolean", request{method: "GET", path: list + "?unread=1"}, 400},
		{"list, malformed before", request{method: "GET", path: list + "?before=-7"}, 400},
		{"list, unknown parameter", request{method: "GET", path: list + "?user_id=11"}, 400},
		{"list, parameter twice", request{method: "GET", path: list + "?limit=1&limit=2"}, 400},
		{"list, query not encoded", request{method: "GET", path: list + "?limit=%zz"}, 400},
		{"list, before another user's notification", request{method: "GET", path: path(list+"?before=%d", theirs)}, 404},
		{"count", request{method: "GET", path: count}, 200},
		{"count, parameter", request{method: "GET", path: count + "?of=11"}, 400},
		{"read", request{method: "POST", path: path("/api/notifications/%d/read", mine[0])}, 204},
		{"read again", request{method: "POST", path: path("/api/notifications/%d/read", mine[0])}, 204},
		{"read, with a body", request{method: "POST", path: path("/api/notifications/%d/read", mine[0]), body: "{}"}, 400},
		{"read, with a query", request{method: "POST", path: path("/api/notifications/%d/read?all=1", mine[0])}, 400},
		{"read another user's notification", request{method: "POST", path: path("/api/notifications/%d/read", theirs)}, 404},
		{"read an unknown notification", request{method: "POST", path: "/api/notifications/999999/read"}, 404},
		{"read, id out of range", request{method: "POST", path: "/api/notifications/99999999999999999999/read"}, 404},
		{"read, body too large", request{method: "POST", path: path("/api/notifications/%d/read", mine[0]), body: long}, 413},
		{"read all", request{method: "POST", path: path(all+"?until=%d", mine[1])}, 204},
		{"read all without until", request{method: "POST", path: all}, 400},
		{"read all, malformed until", request{method: "POST", path: all + "?until=now"}, 400},
		{"read all until another user's notification", request{method: "POST", path: path(all+"?until=%d", theirs)}, 404},
		{"read all, body too large", request{method: "POST", path: path(all+"?until=%d", mine[1]), body: long}, 413},
		{"preferences", request{method: "GET", path: preferences}, 200},
		{"preferences, parameter", request{method: "GET", path: preferences + "?user_id=11"}, 400},
		{"change", request{
			method: "PUT", path: preferences,
			body: `{"timezone":"Asia/Tokyo","channels":[{"channel":"PUSH","enabled":false,"quiet_hours":{"enabled":true,"start":"22:00","end":"08:00"}}],"categories":[{"category":"reservations","channels":[{"channel":"PUSH","enabled":false}]}]}`,
		}, 204},
		{"change the time of digests", request{method: "PUT", path: preferences, body: `{"digest_at":"07:30"}`}, 204},
		{"change, not a time", request{method: "PUT", path: preferences, body: `{"digest_at":"24:00"}`}, 422},
		{"change nothing", request{method: "PUT", path: preferences, body: `{}`, contentType: "application/json; charset=utf-8"}, 204},
		{"change, unknown member", request{method: "PUT", path: preferences, body: `{"user_id":"11"}`}, 400},
		{"change, not JSON", request{method: "PUT", path: preferences, body: `{"timezone":`}, 400},
		{"change, null", request{method: "PUT", path: preferences, body: `null`}, 400},
		{"change, a member is null", request{method: "PUT", path: preferences, body: `{"timezone":null}`}, 400},
		{"change, no body", request{method: "PUT", path: preferences, contentType: "application/json"}, 400},
		{"change, two bodies", request{method: "PUT", path: preferences, body: `{}{}`}, 400},
		{"change, wrong type", request{method: "PUT", path: preferences, body: `{"channels":"EMAIL"}`}, 400},
		{"change, body too large", request{method: "PUT", path: preferences, body: long}, 413},
		{"change with a form", request{method: "PUT", path: preferences, body: "timezone=UTC", contentType: "application/x-www-form-urlencoded"},
			415},
		{"change without a content type", request{method: "PUT", path: preferences, contentType: "none", body: "{}"}, 415},
		{"change a mandatory channel", request{
			method: "PUT", path: preferences, body: `{"categories":[{"category":"reservations","channels":[{"channel":"EMAIL","enabled":false}]}]}`,
		}, 422},
		{"change a category without channels", request{method: "PUT", path: preferences, body: `{"categories":[{"category":"reservations"}]}`},
			422},
		{"change, unknown time zone", request{method: "PUT", path: preferences, body: `{"timezone":"Europe/Atlantis"}`}, 422},
		{"follows", request{method: "GET", path: follows}, 200},
		{"follows, parameter", request{method: "GET", path: follows + "?user_id=11"}, 400},
		{"follow", request{method: "PUT", path: follows, body: `{"entity_type":"RESTAURANT","entity_id":"5","level":"IMPORTANT"}`}, 204},
		{"follow, other level", request{method: "PUT", path: follows, body: `{"entity_type":"RESTAURANT","entity_id":"5","level":"SOME"}`}, 422},
		{"follow what has no followers", request{method: "PUT", path: follows, body: `{"entity_type":"ORDER","entity_id":"5"}`}, 422},
		{"follow, unknown member", request{method: "PUT", path: follows, body: `{"user_id":"11"}`}, 400},
		{"follow with a form", request{method: "PUT", path: follows, body: "x", contentType: "application/x-www-form-urlencoded"}, 415},
		{"follow, body too large", request{method: "PUT", path: follows, body: long}, 413},
		{"unfollow", request{method: "DELETE", path: follows + "?entity_type=RESTAURANT&entity_id=a%2Fb"}, 204},
		{"unfollow nothing", request{method: "DELETE", path: follows + "?entity_type=RESTAURANT"}, 400},
		{"unfollow an id that nobody has", request{method: "DELETE", path: follows + "?entity_type=RESTAURANT&entity_id=%ff"}, 422},
		{"unfollow, body too large", request{method: "DELETE", path: follows + "?entity_type=RESTAURANT&entity_id=5", body: long}, 413},
		{"mutes", request{method: "GET", path: mutes}, 200},
		{"mutes, parameter", request{method: "GET", path: mutes + "?user_id=11"}, 400},
		{"mute", request{method: "PUT", path: mutes, body: `{"entity_type":"ORDER","entity_id":"7"}`}, 204},
		{"mute broadcasts", request{method: "PUT", path: mutes, body: `{"entity_type":"BROADCAST","entity_id":"1"}`}, 422},
		{"mute, unknown member", request{method: "PUT", path: mutes, body: `{"level":"ALL"}`}, 400},
		{"mute with a form", request{method: "PUT", path: mutes, body: "x", contentType: "application/x-www-form-urlencoded"}, 415},
		{"mute, body too large", request{method: "PUT", path: mutes, body: long}, 413},
		{"unmute", request{method: "DELETE", path: mutes + "?entity_type=ORDER&entity_id=8"}, 204},
		{"unmute nothing", request{method: "DELETE", path: mutes}, 400},
		{"unmute broadcasts", request{method: "DELETE", path: mutes + "?entity_type=BROADCAST&entity_id=1"}, 422},
		{"unmute, body too large", request{method: "DELETE", path: mutes + "?entity_type=ORDER&entity_id=8", body: long}, 413},
		{"device", request{method: "PUT", path: devices, body: `{"token":"fcm-token-1","kind":"fcm"}`}, 200},
		{"browser", request{method: "PUT", path: devices, body: browser("https://fcm.googleapis.com")}, 200},
		{"browser over http", request{method: "PUT", path: devices, body: browser("http://fcm.googleapis.com")}, 422},
		{"browser's token as fcm",
			request{method: "PUT", path: devices, body: strings.Replace(browser("https://fcm.googleapis.com"), `"webpush"`, `"fcm"`, 1)}, 422},
		{"browser without keys",
			request{method: "PUT", path: devices, body: `{"kind":"webpush","token":"{\"endpoint\":\"https://fcm.googleapis.com/1\"}"}`}, 422},
		{"device, other kind", request{method: "PUT", path: devices, body: `{"token":"fcm-token-1","kind":"apns"}`}, 422},
		{"device, no token", request{method: "PUT", path: devices, body: `{"kind":"fcm"}`}, 422},
		{"device, unknown member", request{method: "PUT", path: devices, body: `{"user_id":"11"}`}, 400},
		{"device with a form", request{method: "PUT", path: devices, body: "token=x", contentType: "application/x-www-form-urlencoded"}, 415},
		{"device, body too large", request{method: "PUT", path: devices, body: long}, 413},
		{"remove a device", request{method: "DELETE", path: devices + "/6f980d6c2bbc3c013805f8b228b49b90"}, 204},
		{"remove an unknown device", request{method: "DELETE", path: devices + "/x"}, 404},
		{"remove a device, with a body", request{method: "DELETE", path: devices + "/x", body: "{}"}, 400},
		{"remove a device, body too large", request{method: "DELETE", path: devices + "/x", body: long}, 413},
		{"ticket", request{method: "POST", path: ticket}, 201},
		{"ticket, with a body", request{method: "POST", path: ticket, body: `{"user_id":"11"}`}, 400},
		{"ticket, body too large", request{method: "POST", path: ticket, body: long}, 413},
		{"code", request{method: "POST", path: code}, 201},
		{"code, with a body", request{method: "POST", path: code, body: `{"user_id":"11"}`}, 400},
		{"code, body too large", request{method: "POST", path: code, body: long}, 413},
	}
}

// eventCases returns requests of producers. The first request writes an event of
// RESERVATION_REQUESTED.
func eventCases(t *testing.T) []contractCase {
	t.Helper()
	const events = "/api/events"
	body := func(id, eventType, payload string) string {
		return fmt.Sprintf(`{"event_id":%q,"event_type":%q,"aggregate_type":"RESTAURANT","aggregate_id":5,"payload":%s}`, id, eventType, payload)
	}
	post := func(token, body string) request {
		return request{method: "POST", path: events, token: token, body: body}
	}
	all, one := producerToken(t, "*"), producerToken(t, "RESERVATION_REQUESTED")
	written := body("evt-written", "RESERVATION_REQUESTED", `{"note":null}`)
	return []contractCase{
		{"event", post(one, body("evt-new", "RESERVATION_REQUESTED", `{"n":1}`)), 201},
		{"cloud event", request{method: "POST", path: events, token: all, contentType: "application/cloudevents+json", body: `{"specversion":"1.0",
			"id":"evt-cloud","source":"/orders","type":"RESERVATION_REQUESTED","subject":"RESTAURANT/5","data":{"n":1}}`}, 201},
		{"event with an actor", post(all, `{"event_id":"evt-acted","event_type":"RESERVATION_REQUESTED","aggregate_type":"RESTAURANT",
			"aggregate_id":5,"payload":{},"actor_type":"RESTAURANT_USER","actor_id":10,"exclude":["RESTAURANT_USER/11"]}`), 201},
		{"event again", post(all, written), 200},
		{"event again, after its type lost its routes", post(all, body("evt-unrouted", "NEWS", `{}`)), 200},
		{"event, other payload", post(all, body("evt-written", "RESERVATION_REQUESTED", `{"n":2}`)), 409},
		{"event of a type that the token does not permit", post(one, body("evt-other", "NEWS", `{}`)), 403},
		{"event of an unknown type", post(all, body("evt-other", "NEWS", `{}`)), 422},
		{"event of an unknown type, without a payload", post(all, `{"event_id":"e","event_type":"NEWS","aggregate_type":"A","aggregate_id":1}`),
			422},
		{"event of an unknown type, with a character that Postgres cannot store", post(all, body("evt-other", "NEWS", `{"x":"\u0000"}`)), 422},
		{"event without an id", post(all, body("", "RESERVATION_REQUESTED", `{}`)), 400},
		{"event, unknown member", post(all, `{"text":"x"}`), 400},
		{"event, a list", post(all, body("evt-other", "RESERVATION_REQUESTED", `[]`)), 422},
		{"event, a fraction as id",
			post(all, `{"event_id":"e","event_type":"RESERVATION_REQUESTED","aggregate_type":"A","aggregate_id":1.5,"payload":{}}`), 400},
		{"event with a form", request{method: "POST", path: events, token: all, body: "x", contentType: "text/plain"}, 415},
		{"event, too large", post(all, body("evt-other", "RESERVATION_REQUESTED", `{"x":"`+strings.Repeat("x", 256<<10)+`"}`)), 413},
		{"event with a recipient's token", post(token(t, "10"), written), 401},
		{"event without a token", post("", written), 401},
	}
}

// sessionCases returns requests of a page that exchanges a code for a token.
func sessionCases(code string) []contractCase {
	const session = "/api/session"
	return []contractCase{
		{"session", request{method: "POST", path: session, body: `{"code":"` + code + `"}`}, 201},
		{"session with an unknown code", request{method: "POST", path: session, body: `{"code":"x"}`}, 401},
		{"session, unknown member", request{method: "POST", path: session, body: `{"token":"x"}`}, 400},
		{"session with a form", request{method: "POST", path: session, body: "code=x", contentType: "application/x-www-form-urlencoded"}, 415},
		{"session, body too large", request{method: "POST", path: session, body: `{"code":"` + strings.Repeat("x", 64<<10) + `"}`}, 413},
		{"session, from another origin", request{method: "POST", path: session, body: `{"code":"x"}`, origin: "https://elsewhere.example.com"},
			403},
	}
}

// webhookCases returns requests of providers, and forged requests. Each accepted request has data
// to store.
func webhookCases() []contractCase {
	const sendgrid, twilio, inbound = "/webhooks/sendgrid", "/webhooks/twilio?delivery_id=evt-0-staff10-SMS", "/webhooks/twilio/inbound"
	batch := `[{"event":"delivered","sg_event_id":"e1","sg_message_id":"m1.x","timestamp":1600112492,"delivery_id":"evt-0-staff10-EMAIL"}]`
	long := strings.Repeat(" ", 1<<20) + batch
	events := func(body string, header http.Header) request {
		return request{method: "POST", path: sendgrid, body: body, header: header}
	}
	form := func(path string, fields url.Values, header http.Header) request {
		return request{method: "POST", path: path, body: fields.Encode(), header: header}
	}
	status := url.Values{"MessageSid": {"SM1"}, "MessageStatus": {"delivered"}}
	text := url.Values{"MessageSid": {"SM2"}, "From": {"+393401234567"}, "Body": {"STOP"}}
	report := func(path, body string) request {
		return request{method: "POST", path: path, body: body, header: http.Header{"Content-Type": {"application/json"}}}
	}
	const reports, answers = "/webhooks/vonage", "/webhooks/vonage/inbound"
	delivered := map[string]string{"messageId": "V1", "status": "delivered", "client-ref": "evt-0-staff10-SMS", "msisdn": "393401234567"}
	answered := map[string]string{"messageId": "V2", "msisdn": "393401234567", "text": "STOP", "message-timestamp": "2026-11-21 08:00:00"}
	large := url.Values{"Body": {strings.Repeat("x", 64<<10)}}
	return []contractCase{
		{"events", events(batch, provider.SendGrid(time.Now(), batch)), 204},
		{"old events", events(batch, provider.SendGrid(time.Unix(1600112502, 0), batch)), 403},
		{"events without a signature", events(batch, http.Header{"Content-Type": {"application/json"}}), 403},
		{"many events", events(long, provider.SendGrid(time.Now(), long)), 413},
		{"a status", form(twilio, status, provider.Twilio(twilio, status)), 204},
		{"a status, forged", form(twilio, status, provider.Twilio(inbound, status)), 403},
		{"a status, too large", form(twilio, large, provider.Twilio(twilio, large)), 413},
		{"a report", report(reports, provider.Vonage(time.Now(), delivered)), 204},
		{"a report, forged", report(reports, `{"messageId": "V1", "sig": "00", "timestamp": "1"}`), 403},
		{"a report, too large", report(reports, strings.Repeat(" ", 65<<10)), 413},
		{"an answer", report(answers, provider.Vonage(time.Now(), answered)), 200},
		{"an answer, forged", report(answers, `{"messageId": "V2", "msisdn": "1", "sig": "00", "timestamp": "1"}`), 403},
		{"an answer, too large", report(answers, strings.Repeat(" ", 65<<10)), 413},
		{"a text", form(inbound, text, provider.Twilio(inbound, text)), 200},
		{"a text, forged", form(inbound, text, provider.Twilio(twilio, text)), 403},
		{"a text, too large", form(inbound, large, provider.Twilio(inbound, large)), 413},
	}
}
