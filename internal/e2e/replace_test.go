package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// Two orders get seven versions of their status at once, while workers are killed. The inbox, the open
// page and the phone have only the last version of each order. Waiting deliveries of earlier versions
// are cancelled, with their workflows.
func TestReplace(t *testing.T) {
	t.Parallel()

	const versions, orders = 7, 2
	s := newSystem(t, append(crashTimeouts, "PUSH_MAX_ATTEMPTS=100")...)
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.fill(
		postgrestest.Route{EventType: "ORDER_STATUS", Channel: notification.WebSocket},
		postgrestest.Route{EventType: "ORDER_STATUS", Channel: notification.Push},
		postgrestest.Route{EventType: "ORDER_STATUS", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Template{EventType: "ORDER_STATUS", Title: "Order {{.payload.order}}", Body: "status {{.payload.status}}"},
		postgrestest.Device{UserType: notification.Customer, UserID: "43", Token: "phone-43"})
	screens := []string{"--events", "--channels", "websocket,email,push"}
	w, other := s.startAll(screens...), s.startWorker(screens...)
	p := &inboxes{system: s, gateway: s.startGateway("GATEWAY_DEMO=true")}
	page := p.openAs(newBrowser(t), "Ada Brooks")

	emit := func(order, n int) string {
		status := fmt.Sprint("s", n)
		return s.emit(fmt.Sprintf("%s-order-%d-%d", s.name, order, n), "ORDER_STATUS", "CUSTOMER/43",
			fmt.Sprintf(`{"order":%d,"status":%q}`, order, status),
			"--collapse-key", fmt.Sprint("order-", order))
	}
	ids, newest := map[string]bool{}, map[int]string{}
	for n := range versions - 1 {
		for order := range orders {
			ids[emit(order, n)] = true
		}
		if n == 2 || n == 5 {
			w.kill()
			w = s.startWorker(screens...)
		}
	}
	for order := range orders {
		newest[order] = emit(order, versions-1)
	}
	for id := range ids {
		s.awaitSuccess(id) // the e-mails' workflows do not wait for an hour
	}

	who := notification.RecipientKey{UserType: notification.Customer, UserID: "43"}
	var inbox struct{ Notifications []notification.InboxItem }
	for order, id := range newest {
		s.awaitDelivery(id+"-customer43-WEBSOCKET", "DELIVERED")
		s.awaitDelivery(id+"-customer43-PUSH", "SENT")
		page.await(shows(fmt.Sprint("Order ", order), 1, orders))
	}
	page.await(shows(fmt.Sprint("status s", versions-1), orders, orders))
	status, answer := p.gateway.request(http.MethodGet, "/api/notifications", "", bearer(tokenOf(t, who)))
	require.Equal(t, http.StatusOK, status, answer)
	require.NoError(t, json.Unmarshal([]byte(answer), &inbox))
	require.Len(t, inbox.Notifications, orders)
	for _, item := range inbox.Notifications {
		require.False(t, ids[item.EventID], item.EventID)
		require.Contains(t, []string{"order-0", "order-1"}, item.CollapseKey)
	}

	// The oracle: only the last version of each order in the outbox may remain.
	require.Equal(t, (versions-1)*orders,
		s.count(`SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND status = 'CANCELLED' `+
			`AND last_error = 'replaced by event ' || replaced_by`))
	require.Zero(t, s.count(`SELECT count(*) FROM notification n WHERE (replaced_by IS NULL) <> (collapse_seq = (SELECT max(o.seq) `+
		`FROM event_outbox o WHERE o.collapse_key = n.collapse_key))`))
	phone := map[string]string{} // the last title and text by collapse key, as a phone shows them
	for _, m := range s.messages() {
		require.NotEqual(t, notification.Email, m.Channel, "no e-mail was sent yet")
		if m.Channel == notification.Push {
			phone[m.CollapseKey] = m.Title + ", " + m.Body
		}
	}
	require.ElementsMatch(t, []string{"Order 0, status s6", "Order 1, status s6"}, slices.Collect(maps.Values(phone)))

	first := fmt.Sprintf("%s-order-0-0-customer43-EMAIL", s.name)
	require.Contains(t, s.starter("delivery", "why", first), "took its place while it waited")
	require.Contains(t, s.starter("delivery", "show", first), "replaced by event ")
	require.Contains(t, s.starter("event", "show", newest[0]), "order-0")
	s.fails(1, "--again", "delivery", "retry", first)
	require.NoError(t, other.stop(), "%s", other.output)
}
