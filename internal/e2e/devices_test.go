package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

// signIn registers a device of a customer.
func (g *gateway) signIn(user, kind, token string) {
	g.t.Helper()
	header := bearer(tokenOf(g.t, notification.RecipientKey{UserType: notification.Customer, UserID: user}))
	header["Content-Type"] = "application/json"
	body := must(json.Marshal(map[string]string{"kind": kind, "token": token}))(g.t)
	status, answer := g.request(http.MethodPut, "/api/devices", string(body), header)
	require.Equal(g.t, http.StatusOK, status, answer)
}

// usePush makes Web Push keys for all processes that start later.
func (s *system) usePush() {
	s.t.Helper()
	s.env = append(s.env, "WEBPUSH_SUBJECT=mailto:herald@example.com", "WEBPUSH_ALLOWED_HOSTS="+strings.TrimPrefix(s.sandbox.URL, "http://"))
	s.env = append(s.env, strings.Fields(s.starter("secret", "vapid"))...)
}

// Phones and browsers of four customers get pushes.
func TestDevices(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "PUSH_MAX_ATTEMPTS=100", "PUSH_RETRY_COEFFICIENT=1")
	s.usePush()
	s.fill(
		postgrestest.Route{EventType: "NEWS", Channel: notification.Push}, postgrestest.Template{Title: "News", Body: "Read {{.payload.id}}"})
	s.fillMany(4, postgrestest.Recipient{}, postgrestest.Expressions{"user_id": "i"})
	g := s.startGateway()
	s.startAll("--events", "--channels", "push")
	s.sharePhone(g)
	s.usePhoneAndBrowser(g)
}

// Two people share a phone. After the second person signs in, it gets nothing more for the first person,
// not even a notification that was waiting.
func (s *system) sharePhone(g *gateway) {
	signIn := func(user string, token string) { g.signIn(user, "fcm", token) }
	signIn("1", "phone")
	signIn("1", "tablet")
	first := s.emit(s.name+"-first", "NEWS", "CUSTOMER/1", `{"id":"1"}`) + "-customer1-PUSH"
	s.awaitDelivery(first, "SENT")
	s.fault("push", `{"status":503}`)
	waiting := s.emit(s.name+"-waiting", "NEWS", "CUSTOMER/1", `{"id":"1"}`) + "-customer1-PUSH"
	s.awaitCount(1, `SELECT count(*) FROM (SELECT FROM delivery_attempt WHERE delivery_id = $1 LIMIT 1) AS tried`, waiting)
	signIn("2", "phone")
	s.mend()
	s.awaitDelivery(waiting, "SENT")
	hers := s.emit(s.name+"-hers", "NEWS", "CUSTOMER/2", `{"id":"2"}`) + "-customer2-PUSH"
	s.awaitDelivery(hers, "SENT")

	got := map[string][]string{}
	for _, m := range s.messages() {
		got[m.Recipient] = append(got[m.Recipient], m.DeliveryID)
	}
	require.Equal(s.t, []string{first, hers}, got["phone"])
	require.Equal(s.t, []string{first, waiting}, got["tablet"])
}

// A recipient has a phone and browsers. Each push goes to all of them, and counts as sent if one of them
// accepts it. A browser whose subscription has ended gets no more pushes.
func (s *system) usePhoneAndBrowser(g *gateway) {
	g.signIn("3", "fcm", "own-phone")
	g.signIn("3", "webpush", sandbox.Subscription(s.sandbox.URL, "browser"))
	g.signIn("3", "webpush", sandbox.Subscription(s.sandbox.URL, "dead-browser"))

	for _, tt := range []struct {
		name, fault, provider string
		devices               []string
	}{
		{name: "both", provider: "fcm", devices: []string{"/push/browser", "own-phone"}},
		{name: "no-fcm", fault: "push", provider: "webpush", devices: []string{"/push/browser"}},
		{name: "no-webpush", fault: "webpush", provider: "fcm", devices: []string{"own-phone"}},
	} {
		if tt.fault != "" {
			s.fault(tt.fault, `{"status":429}`)
		}
		id := s.emit(s.name+"-"+tt.name, "NEWS", "CUSTOMER/3", `{"id":"`+tt.name+`"}`) + "-customer3-PUSH"
		s.awaitDelivery(id, "SENT")
		s.mend()
		require.Equal(s.t, 1, s.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND provider = $2`, id, tt.provider), tt.name)
		var devices []string
		for _, m := range s.messages() {
			if m.DeliveryID == id {
				devices = append(devices, m.Recipient)
				require.Equal(s.t, []string{"News", "Read " + tt.name}, []string{m.Title, m.Body})
			}
		}
		require.ElementsMatch(s.t, tt.devices, devices, tt.name)
	}
	require.Equal(s.t, 1, s.count(`SELECT count(*) FROM recipient_device WHERE NOT active AND token LIKE '%/push/dead-browser%'`))
	require.Equal(s.t, 2, s.count(`SELECT count(*) FROM recipient_device WHERE active AND user_id = '3'`))

	g.signIn("4", "webpush", sandbox.Subscription(s.sandbox.URL, "other-browser"))
	s.fault("webpush", `{"drop":"before"}`)
	cut := s.emit(s.name+"-cut", "NEWS", "CUSTOMER/4", `{"id":"cut"}`) + "-customer4-PUSH"
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'PENDING' AND provider = 'webpush'`, cut)
	s.mend()
	s.awaitDelivery(cut, "SENT")
	require.Equal(s.t, 1, s.accepted()[cut])
}
