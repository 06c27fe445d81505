package inbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
)

// answered is a page as a client decodes it.
type answered struct {
	Notifications []notification.InboxItem `json:"notifications"`
	NextBefore    *int64                   `json:"next_before"`
}

func (g *process) page(t *testing.T, who notification.RecipientKey, query string) answered {
	t.Helper()
	answer, body := g.do(t, request{method: "GET", path: "/api/notifications" + query, token: token(t, who)})
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s", body)
	var page answered
	require.NoError(t, json.Unmarshal(body, &page))
	return page
}

func ids(page answered) []int64 {
	var ids []int64
	for _, item := range page.Notifications {
		ids = append(ids, int64(item.NotificationID))
	}
	return ids
}

func (g *process) unread(t *testing.T, who notification.RecipientKey) string {
	t.Helper()
	_, body := g.do(t, request{method: "GET", path: "/api/notifications/unread-count", token: token(t, who)})
	return string(body)
}

// TestPages reads an inbox page by page, newest first, while a notification arrives.
func TestPages(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	all := g.notify(giulia, 45)
	g.notify(marco, 3)
	slices.Reverse(all)

	first := g.page(t, giulia, "")
	require.Equal(t, all[:20], ids(first))
	g.exec(`UPDATE notification SET available_at = now() WHERE user_id = '11'`)
	second := g.page(t, giulia, fmt.Sprintf("?before=%d", *first.NextBefore))
	require.Equal(t, all[20:40], ids(second))
	third := g.page(t, giulia, fmt.Sprintf("?before=%d", *second.NextBefore))
	require.Equal(t, all[40:], ids(third))
	require.Nil(t, third.NextBefore)

	whole := g.page(t, giulia, "?limit=45") // the page is full, and is the last page
	require.Equal(t, all, ids(whole))
	require.Nil(t, whole.NextBefore)
}

// slowInbox blocks each page until the test permits it.
type slowInbox struct {
	reading atomic.Int32
	allowed chan struct{}
}

func (s *slowInbox) InboxPage(
	ctx context.Context, _ notification.RecipientKey, _ notification.InboxFilter,
) (notification.InboxPage, error) {
	s.reading.Add(1)
	defer s.reading.Add(-1)
	select {
	case <-s.allowed:
	case <-ctx.Done():
	}
	return notification.InboxPage{}, ctx.Err()
}

// TestPagesAtOnce requests more pages than a gateway holds concurrently. The other requests wait.
func TestPagesAtOnce(t *testing.T) {
	t.Parallel()

	slow := &slowInbox{allowed: make(chan struct{})}
	handler := (&inbox.API{Pages: slow}).Handler()
	statuses := make(chan int)
	for range 40 {
		go func() {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/notifications", nil))
			statuses <- answer.Code
		}()
	}
	require.Eventually(t, func() bool { return slow.reading.Load() >= 32 }, time.Minute, time.Millisecond)
	require.EqualValues(t, 32, slow.reading.Load())
	close(slow.allowed)
	for range 40 {
		require.Equal(t, http.StatusOK, <-statuses)
	}
}

// TestRead reads one notification, then all shown notifications. Newer ones stay unread.
func TestRead(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	all := g.notify(giulia, 4)
	post := func(path string, id int64) {
		answer, body := g.do(t, request{method: "POST", path: fmt.Sprintf(path, id), token: token(t, giulia)})
		require.Equal(t, http.StatusNoContent, answer.StatusCode, "%s", body)
	}

	require.JSONEq(t, `{"unread":4}`, g.unread(t, giulia))
	post("/api/notifications/%d/read", all[1])
	require.JSONEq(t, `{"unread":3}`, g.unread(t, giulia))
	require.Equal(t, []int64{all[3], all[2], all[0]}, ids(g.page(t, giulia, "?unread=true")))
	post("/api/notifications/read-all?until=%d", all[2])
	require.Equal(t, []int64{all[3]}, ids(g.page(t, giulia, "?unread=true")))

	delivered := postgrestest.Get[[]int64](t, g.store, `SELECT array_agg(id ORDER BY id) FROM notification WHERE status = 'DELIVERED'`)
	require.Equal(t, all[:3], delivered) // reading implies delivery
}

// TestOwnRowsOnly sends another recipient's id to every path. The notification stays unchanged.
func TestOwnRowsOnly(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	mine, theirs := g.notify(giulia, 1)[0], g.notify(marco, 1)[0]
	for _, path := range []string{"/api/notifications/%d/read", "/api/notifications/read-all?until=%d"} {
		answer, _ := g.do(t, request{method: "POST", path: fmt.Sprintf(path, theirs), token: token(t, giulia)})
		require.Equal(t, http.StatusNotFound, answer.StatusCode)
	}
	require.Equal(t, []int64{mine}, ids(g.page(t, giulia, "?unread=true")))
	require.Equal(t, []int64{theirs}, ids(g.page(t, marco, "?unread=true")))

	stranger := notification.RecipientKey{UserType: notification.Customer, UserID: "10"} // the same id with another user type
	answer, _ := g.do(t, request{method: "GET", path: "/api/notifications", token: token(t, stranger)})
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}

// TestEmpty gets empty lists, not null.
func TestEmpty(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	_, body := g.do(t, request{method: "GET", path: "/api/notifications", token: token(t, giulia)})
	require.JSONEq(t, `{"notifications":[],"next_before":null}`, string(body))
}

// TestOtherPathsAndMethods gets a problem for unknown paths and methods.
func TestOtherPathsAndMethods(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	tests := []struct {
		method, path string
		want         int
		allow        string
	}{
		{"GET", "/api/nothing", 404, ""},
		{"GET", "/api/notifications/", 404, ""},
		{"DELETE", "/api/notifications", 405, "GET"},
		{"PATCH", "/api/preferences", 405, "GET, PUT"},
		{"GET", "/api/ws-ticket", 405, "POST"},
	}
	for _, tt := range tests {
		answer, body := g.do(t, request{method: tt.method, path: tt.path, token: token(t, giulia)})
		require.Equal(t, tt.want, answer.StatusCode, tt.path)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
		require.Equal(t, tt.allow, answer.Header.Get("Allow"))
		require.Contains(t, string(body), fmt.Sprintf(`"status":%d`, tt.want))
	}
}
