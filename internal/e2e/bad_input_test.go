package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/tools/sandbox"
	"herald/workflows"
)

// Events, rules and rows that Herald cannot use, in one installation.
func TestBadInput(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	w := s.startAll()
	s.toldNobody(w)
	s.badEvents()
	s.eventIDTaken()
	require.NoError(t, w.stop())
}

// Each event that Herald cannot use gets a clear error where operators look for it. Herald delivers
// the other events.
func (s *system) badEvents() {
	s.fill(
		postgrestest.Recipient{UserID: "2", Email: "nonsense", Phone: "12"},
		postgrestest.Recipient{UserID: "3", Email: "three@example.com", Phone: "+12015550103", Timezone: "FOO3"},
		postgrestest.Recipient{UserID: "jürgen", Email: "four@example.com", Phone: "+12015550104"},
		postgrestest.Device{UserType: notification.Customer, UserID: "2", Token: "dead-token"})
	s.fillMany(1, postgrestest.Preference{UserType: notification.Customer, UserID: "3"}, postgrestest.Expressions{
		"quiet_hours_enabled": "true", "quiet_hours_start": "(now() AT TIME ZONE 'UTC')::time + interval '6 hours'",
		"quiet_hours_end": "(now() AT TIME ZONE 'UTC')::time + interval '7 hours'",
	})
	s.fill(
		postgrestest.Route{EventType: "PATH"}, postgrestest.Route{EventType: "BROKEN"},
		postgrestest.Route{EventType: "BROKEN", Channel: notification.SMS},
		postgrestest.Target{EventType: "PATH", UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "customer.id"},
		postgrestest.Template{EventType: "BROKEN", Channel: notification.Email, Title: "{{.payload.title}}", Body: "text"})

	emit := func(name, eventType, aggregate, payload string) string {
		return s.emit(s.name+"-"+name, eventType, aggregate, payload)
	}
	outcomes := map[string]struct {
		outcome notification.EventOutcome
		problem string
	}{
		emit("type", "UNHEARD_OF", "CUSTOMER/1", `{}`):                     {"NO_ROUTING", "UNHEARD_OF"},
		emit("aggregate", "LOAD", "SPACESHIP/1", `{"number":1}`):           {"NO_RECIPIENTS", "SPACESHIP"},
		emit("inactive", "LOAD", "CUSTOMER/999", `{"number":1}`):           {"NO_RECIPIENTS", "active"},
		emit("no-path", "PATH", "CUSTOMER/1", `{"Customer":{"id":1}}`):     {"NO_RECIPIENTS", "customer.id"},
		emit("wrong-type", "PATH", "CUSTOMER/1", `{"customer":{"id":{}}}`): {"NO_RECIPIENTS", "customer.id"},
	}
	crlf := emit("crlf", "BROKEN", "CUSTOMER/1", `{"title":"Hello\r\nBcc: everybody@example.com","number":1}`)
	addresses := emit("addresses", "LOAD", "CUSTOMER/2", `{"number":1}`)
	zone := emit("zone", "LOAD", "CUSTOMER/3", `{"number":1}`)
	letters := emit("ünïcode", "LOAD", "CUSTOMER/jürgen", `{"number":1}`) // valid input

	for event, want := range outcomes {
		var result workflows.NotifyResult
		s.result(event, &result)
		require.Equal(s.t, want.outcome, result.Outcome, event)
		require.Contains(s.t, result.Problem, want.problem, event)
	}
	for _, event := range []string{crlf, addresses, zone} {
		s.result(event, &workflows.NotifyResult{})
	}
	s.requireDelivery(crlf+"-customer1-EMAIL", "SENT", "")
	require.True(s.t, slices.ContainsFunc(s.messages(), func(m sandbox.Entry) bool { return m.Title == "Hello Bcc: everybody@example.com" }),
		"the break is a space")
	s.requireDelivery(crlf+"-customer1-SMS", "SENT", "")
	s.requireDelivery(addresses+"-customer2-EMAIL", "FAILED", "invalid address")
	s.requireDelivery(addresses+"-customer2-SMS", "FAILED", "invalid number")
	s.requireDelivery(addresses+"-customer2-PUSH", "FAILED", "no working device")
	require.Equal(s.t, 1, s.count(`SELECT count(*) FROM recipient_device WHERE token = 'dead-token' AND NOT active`))
	s.requireDelivery(zone+"-customer3-EMAIL", "SENT", "")
	require.Contains(s.t, s.starter("delivery", "why", zone+"-customer3-EMAIL"), `"FOO3" is unknown here, and taken as UTC`)
	s.requireDelivery(zone+"-customer3-SMS", "SENT", "")
	s.awaitSuccess(letters)
	s.requireDelivery(letters+"-customerjürgen-EMAIL", "SENT", "")
	require.Contains(s.t, s.starter("delivery", "why", letters+"-customerjürgen-SMS"), "workflow  COMPLETED")
	require.Len(s.t, s.deadLetters(), 3)

	for _, bad := range []string{`{"number":`, `[]`, `""`, ``, `null`} {
		out, err := s.tryStarter("emit", "--type", "LOAD", "--aggregate-type", "CUSTOMER", "--aggregate-id", "1", "--payload", bad)
		require.Error(s.t, err, "payload %q: %s", bad, out)
	}
}

// result waits until an event has ended, and reads its result.
func (s *system) result(eventID string, result *workflows.NotifyResult) {
	s.t.Helper()
	s.awaitSuccess(eventID)
	require.NoError(s.t, s.temporal.GetWorkflow(s.t.Context(), eventID, "").Get(s.t.Context(), result))
}

func (s *system) requireDelivery(id, status, why string) {
	s.t.Helper()
	var gotStatus, lastError string
	err := s.store.Pool.QueryRow(s.t.Context(), `SELECT status, coalesce(last_error, '') FROM notification WHERE delivery_id = $1`,
		id).Scan(&gotStatus, &lastError)
	require.NoError(s.t, err, id)
	require.Equal(s.t, status, gotStatus, fmt.Sprintf("%s: %s", id, lastError))
	require.Contains(s.t, lastError, why, id)
}

// client is a client of the installation's sandbox.
func (s *system) client() sandbox.Client { return sandbox.Client{URL: s.sandbox.URL} }

// fault sets the sandbox's fault for a channel.
func (s *system) fault(channel, fault string) {
	s.t.Helper()
	require.NoError(s.t, s.client().SetFault(s.t.Context(), channel, fault))
}

// mend ends all faults.
func (s *system) mend() {
	s.t.Helper()
	require.NoError(s.t, s.client().EndFaults(s.t.Context()))
}

// messages returns the messages that the providers accepted.
func (s *system) messages() []sandbox.Entry {
	s.t.Helper()
	return must(s.client().Accepted(s.t.Context(), time.Time{}))(s.t)
}

// accepted returns the number of messages that the providers accepted, by delivery id.
func (s *system) accepted() map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	for _, m := range s.messages() {
		counts[m.DeliveryID]++
	}
	return counts
}

// sentOnce requires that the providers accepted this number of deliveries, each exactly once.
func (s *system) sentOnce(deliveries int) {
	s.t.Helper()
	accepted := s.accepted()
	require.Len(s.t, accepted, deliveries)
	for id, times := range accepted {
		require.Equal(s.t, 1, times, id)
	}
}
