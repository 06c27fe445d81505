package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/roomtest"
)

var (
	theirToken = regexp.MustCompile(`name="token" value="([^"]*)"`)
	theirCard  = regexp.MustCompile(`(?s)(<p role="alert">.*?</p>\n)?<section class="card">.*?</section>`)
)

// What a person reads before and after a change.
func TestChangePages(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	temporal := mocks.NewClient(t)
	temporal.On("DescribeWorkflow", mock.Anything, mock.Anything, "").Return(nil, serviceerror.NewNotFound("none"))
	d.console.Operator = func(order operate.Order) *operate.Operator {
		return &operate.Operator{Order: order, DB: d.store, Launcher: &launch.Launcher{Client: temporal, Prefix: "test"}}
	}
	postgrestest.Add(t, d.store.Pool, postgrestest.Event{ID: "evt-1", Status: notification.OutboxFailed},
		postgrestest.Delivery{ID: "waits", UserID: "1"}, postgrestest.Delivery{ID: "sent", UserID: "2", Status: notification.Sent})
	postgrestest.Exec(t, d.store, "UPDATE notification SET sent_at = '2026-11-21T08:00:00Z' WHERE status = 'SENT'")
	status, page := d.post("/change", url.Values{"change": {"event cancel"}, "id": {""}})
	require.Equal(t, http.StatusBadRequest, status, page)
	var text strings.Builder
	for _, c := range []struct{ change, id string }{
		{"delivery retry", "sent"}, {"delivery send-now", "waits"}, {"delivery cancel", "waits"}, {"delivery cancel", "waits"},
		{"event cancel", "evt-1"}, {"event retry", "evt-1"}, {"event approve", "evt-1"},
	} {
		form := url.Values{"change": {c.change}, "id": {c.id}}
		for range 3 { // the plan; without a reason, if there is something to confirm; and the change
			status, page := d.post("/change", form)
			require.Equal(t, http.StatusOK, status, page)
			fmt.Fprintf(&text, "# %s %s\n%s\n", c.change, c.id, theirToken.ReplaceAllString(theirCard.FindString(page), `name="token"`))
			token := theirToken.FindStringSubmatch(page)
			if token == nil {
				break
			}
			if form.Has("token") {
				form.Set("reason", "request 17")
			}
			form.Set("token", token[1])
		}
	}
	roomtest.Golden(t, "change", text.String())
}
