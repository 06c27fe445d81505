package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Two people share a phone. It gets the notifications of the last one who signed in, and nobody
// else's, not even of an event from before.
func TestSharedPhone(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "PUSH_MAX_ATTEMPTS=100", "PUSH_RETRY_COEFFICIENT=1")
	s.route("NEWS", "PUSH")
	s.exec(`INSERT INTO recipient (user_type, user_id) VALUES ('CUSTOMER', '1'), ('CUSTOMER', '2')`)
	g := s.startGateway()
	s.startAll()
	signIn := func(user string, token string) {
		t.Helper()
		who := notification.RecipientKey{UserType: notification.Customer, UserID: user}
		header := bearer(tokenOf(t, who))
		header["Content-Type"] = "application/json"
		status, answer := g.request(http.MethodPut, "/api/devices", `{"kind":"fcm","token":"`+token+`"}`, header)
		require.Equal(t, http.StatusOK, status, answer)
	}
	signIn("1", "phone")
	signIn("1", "tablet")
	first := s.emit(s.name+"-first", "NEWS", "CUSTOMER/1", "{}") + "-customer1-PUSH"
	s.awaitDelivery(first, "SENT")
	s.fault("push", `{"status":503}`)
	waiting := s.emit(s.name+"-waiting", "NEWS", "CUSTOMER/1", "{}") + "-customer1-PUSH"
	s.awaitCount(1, `SELECT count(*) FROM (SELECT FROM delivery_attempt WHERE delivery_id = $1 LIMIT 1) AS tried`, waiting)
	signIn("2", "phone")
	s.mend()
	s.awaitDelivery(waiting, "SENT")
	hers := s.emit(s.name+"-hers", "NEWS", "CUSTOMER/2", "{}") + "-customer2-PUSH"
	s.awaitDelivery(hers, "SENT")

	got := map[string][]string{}
	for _, m := range s.messages() {
		got[m.Recipient] = append(got[m.Recipient], m.DeliveryID)
	}
	require.Equal(t, []string{first, hers}, got["phone"])
	require.Equal(t, []string{first, waiting}, got["tablet"])
}
