package console_test

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
)

// hostile is a string that an attacker could put into an event, a receipt or a name.
const hostile = `"><script>alert(1)</script>'&{{.}}`

// Pages show values from outside as text, and never an address or a text of a message.
func TestPagesShowHostileValues(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	const address, text = "anna@private.example", "a private text"
	at := time.Now()
	postgrestest.Add(t, d.store.Pool,
		postgrestest.Recipient{UserID: hostile, Email: address, Timezone: hostile, Locale: hostile},
		postgrestest.Event{
			ID: hostile, Type: hostile, AggregateType: hostile, AggregateID: hostile, CorrelationID: hostile, Payload: `{"name": "a private text"}`,
			Status: notification.OutboxFailed,
		},
		postgrestest.Route{EventType: hostile},
		postgrestest.Delivery{
			ID: "d1", EventID: hostile, EventType: hostile, UserID: hostile, Title: text, Body: text, Address: address, Status: notification.Failed,
			LastError: hostile,
		})
	for _, sql := range []string{
		`UPDATE event_outbox SET error_message = $1`,
		`INSERT INTO processed_event (event_id, status, outcome, problem) VALUES ($1, 'PROCESSING', 'AWAITING_APPROVAL', $1)`,
		`INSERT INTO event_approval (event_id) VALUES ($1)`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels)
			VALUES ($1, 'CUSTOMER', $1, '{"EMAIL": "SELECTED", "SMS": "NO_ADDRESS"}')`,
		`INSERT INTO delivery_attempt (delivery_id, attempt, started_at, ended_at, took, outcome, detail)
			VALUES ('d1', 1, now(), now(), '1 second', 'REFUSED', $1)`,
		`INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, detail)
			VALUES ('sendgrid', '1', 'd1', now(), 'bounce', $1)`,
		`INSERT INTO operator_action (actor, command, target, detail) VALUES ($1, $1, 'd1', $1)`,
		`INSERT INTO applied_rule (table_name, key, event_type, content, before, actor, reason, commit_id)
			VALUES ('event_category', jsonb_build_object('event_type', $1::text), $1, NULL, jsonb_build_object('category', $1::text), $1, $1, $1)`,
		`INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled, changed_by)
			VALUES ('CUSTOMER', $1, $1, 'EMAIL', false, $1)`,
	} {
		postgrestest.Exec(t, d.store, sql, hostile)
	}
	postgrestest.Exec(t, d.store,
		`INSERT INTO recipient_suppression (channel, address_hash, reason, detail) VALUES ('EMAIL', $1, 'BOUNCE', $2)`, hashOf(address), hostile)
	postgrestest.Exec(t, d.store, `INSERT INTO delivery_count (since, channel, status, count) VALUES ($1, 'EMAIL', 'FAILED', 3)`,
		at.Truncate(10*time.Minute))

	id := url.QueryEscape(hostile)
	for _, path := range []string{
		"/", "/?span=week", "/events", "/events?type=" + id + "&aggregate=" + id + "%2F" + id + "&correlation=" + id, "/event?id=" + id,
		"/simulation?id=" + id, "/deliveries?event=" + id, "/delivery?id=d1",
		"/why?event=" + id + "&recipient=CUSTOMER%2F" + id + "&channel=SMS", "/recipient?type=CUSTOMER&id=" + id, "/templates?event=" + id,
		"/audit?actor=" + id, "/rules?type=" + id,
	} {
		status, page := d.get(path)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, page)
		require.Contains(t, page, html.EscapeString(hostile)[:20], path)
		requireSafe(t, path, page, address, text)
	}
	for _, until := range []string{hostile, "2020-01-01T00:00", "9999-01-01T00:00"} {
		status, page := d.post("/change", url.Values{"change": {"delivery reschedule"}, "id": {"d1"}, "until": {until}})
		require.Equal(t, http.StatusBadRequest, status, until)
		requireSafe(t, "/change", page)
	}
	for path, form := range map[string]url.Values{
		"/check":     {},
		"/search":    {"text": {address}, "channel": {"EMAIL"}},
		"/templates": {"event": {hostile}, "recipient": {"CUSTOMER/" + hostile}, "channel": {"EMAIL"}, "locale": {hostile}},
	} {
		status, page := d.post(path, form)
		require.Equal(t, http.StatusOK, status, "%s: %s", path, page)
		requireSafe(t, path, page, address)
	}
	for _, path := range []string{
		"/event?id=none" + id, "/delivery?id=" + id, "/recipient?type=" + id + "&id=1", "/deliveries?channel=" + id, "/deliveries?before=" + id,
		"/nowhere/" + id,
	} {
		status, page := d.get(path)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, status, "%s: %s", path, page)
		requireSafe(t, path, page)
	}
}

func requireSafe(t *testing.T, path, page string, secrets ...string) {
	t.Helper()
	require.NotContains(t, strings.Replace(page, `<script src="/live.js" defer></script>`, "", 1), "<script", path)
	require.NotContains(t, page, "%!", path)
	require.NotContains(t, page, `"><`+"script", path)
	for _, secret := range secrets {
		require.NotContains(t, page, secret, path)
	}
}

// A person finds events, deliveries and recipients by their ids. No address gets into a link.
func TestSearch(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	postgrestest.Add(t, d.store.Pool, postgrestest.Recipient{UserID: "7"}, postgrestest.Event{ID: "evt/1", CorrelationID: "c 1"},
		postgrestest.Delivery{ID: "evt-1-customer7-EMAIL"})
	tests := map[string]string{
		"CUSTOMER/7":             "/recipient?id=7&type=CUSTOMER",
		" evt-1-customer7-EMAIL": "/delivery?id=evt-1-customer7-EMAIL",
		"evt/1":                  "/event?id=evt%2F1",
		"c 1":                    "/events?correlation=c+1",
	}
	for text, want := range tests {
		status, location := d.post("/search", url.Values{"text": {text}})
		require.Equal(t, http.StatusSeeOther, status, text)
		require.Equal(t, want, location)
	}
	for _, text := range []string{"", "nobody", "CUSTOMER/8"} {
		status, page := d.post("/search", url.Values{"text": {text}})
		require.Equal(t, http.StatusOK, status, text)
		require.Contains(t, page, "Nothing has this name")
	}
	status, _ := d.post("/search", url.Values{"text": {"no address"}, "channel": {"EMAIL"}})
	require.Equal(t, http.StatusBadRequest, status)
}

var olderLink = regexp.MustCompile(`<p class="older"><a href="([^"]+)"`)

// Each row of a list is on exactly one page, also where many have the same time, and where the page
// searches fewer rows than there are.
func TestListsShowEachRowOnce(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.console.SetSearched(70)
	const rows = 120
	for _, sql := range []string{
		`INSERT INTO recipient (user_type, user_id) VALUES ('CUSTOMER', '7')`,
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, created_at) SELECT 'row-' || n, 'T', 'CUSTOMER',
			CASE n WHEN 1 THEN '8' ELSE '7' END, '{}', '2026-01-01' FROM generate_series(1, $1::int) n`,
		`INSERT INTO processed_event (event_id, status, outcome, updated_at) SELECT 'row-' || n, 'FAILED', 'NO_ROUTING', '2026-01-01'
			FROM generate_series(1, $1::int) n`,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body) SELECT 'row-' || n, 'T',
			'CUSTOMER', '7', 'EMAIL', 'row-' || n, '', '' FROM generate_series(1, $1::int) n`,
		`INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body) OVERRIDING SYSTEM VALUE
			VALUES (500, 'late', 'T', 'CUSTOMER', '7', 'SMS', 'late', '', '')`,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, sent_at) SELECT 'news',
			'T', 'CUSTOMER', n::text, CASE WHEN n <= 20 THEN 'SMS' ELSE 'EMAIL' END, 'news-' || n, '', '', 'SENT', now()
			       FROM generate_series(1, $1::int) n`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels) SELECT 'row-' || n, 'CUSTOMER', '7', '2026-01-01',
			'{"EMAIL": "SELECTED", "SMS": "NO_ADDRESS"}' FROM generate_series(1, $1::int) n`,
		`INSERT INTO preference_change (user_type, user_id, setting, channel, old_value, new_value, changed_by, at) SELECT 'CUSTOMER', '7',
			'ENABLED', 'SMS', 'true', 'false', 'change-' || n, '2026-01-01'::timestamptz + (n - 60) * interval '1 second'
			       FROM generate_series(1, $1::int) n`,
		`INSERT INTO operator_action (actor, command, target) SELECT 'ada', 'retry', 'row-' || n FROM generate_series(1, $1::int) n`,
	} {
		if strings.Contains(sql, "$1") {
			postgrestest.Exec(t, d.store, sql, rows)
			continue
		}
		postgrestest.Exec(t, d.store, sql)
	}
	tests := []struct {
		path string
		row  *regexp.Regexp
		want int
	}{
		{"/events?type=T", regexp.MustCompile(`<td data-label="Event"><a href="/event\?id=(row-\d+)"`), rows},
		{"/events?aggregate=CUSTOMER/8", regexp.MustCompile(`<td data-label="Event"><a href="/event\?id=(row-\d+)"`), 1},
		{"/events?outcome=NO_ROUTING&type=T", regexp.MustCompile(`<td data-label="Event"><a href="/event\?id=(row-\d+)"`), rows},
		{"/events?outcome=NO_ROUTING&aggregate=CUSTOMER/8", regexp.MustCompile(`<td data-label="Event"><a href="/event\?id=(row-\d+)"`), 1},
		{"/events?outcome=NO_ROUTING", regexp.MustCompile(`<td data-label="Event"><a href="/event\?id=(row-\d+)"`), rows},
		{"/deliveries?status=PENDING&channel=EMAIL", regexp.MustCompile(`<td data-label="Delivery"><a href="/delivery\?id=(row-\d+)"`), rows},
		{"/deliveries?event=news", regexp.MustCompile(`<td data-label="Delivery"><a href="/delivery\?id=(news-\d+)"`), rows},
		{"/deliveries?event=news&status=SENT&channel=SMS", regexp.MustCompile(`<td data-label="Delivery"><a href="/delivery\?id=(news-\d+)"`),
			20},
		{"/deliveries?event=row-1&status=PENDING", regexp.MustCompile(`<td data-label="Delivery"><a href="/delivery\?id=(row-\d+)"`), 1},
		{"/audit?actor=ada", regexp.MustCompile(`<a href="/audit\?target=(row-\d+)"`), rows},
		{"/recipient?type=CUSTOMER&id=7&channel=sms", regexp.MustCompile(`href="/why\?event=(row-\d+)`), rows},
		{"/recipient?type=CUSTOMER&id=7", regexp.MustCompile(`href="/(why\?event|delivery\?id)=row-\d+|by change-\d+`), 3 * rows},
	}
	for _, tt := range tests {
		seen := map[string]bool{}
		count := 0
		for path := tt.path; path != ""; {
			status, page := d.get(path)
			require.Equal(t, http.StatusOK, status, page)
			for _, found := range tt.row.FindAllString(page, -1) {
				seen[found] = true
				count++
			}
			path = ""
			if next := olderLink.FindStringSubmatch(page); next != nil {
				path = html.UnescapeString(next[1])
			}
		}
		require.Equal(t, tt.want, count, tt.path)
		require.Len(t, seen, tt.want, tt.path)
	}
	for _, path := range []string{"/events?aggregate=CUSTOMER/8", "/events?outcome=NO_ROUTING&aggregate=CUSTOMER/8"} {
		_, page := d.get(path)
		require.Contains(t, page, "No event matches among these", path)
	}
}

// The overview draws the deliveries, also before a sweep has counted them, with a table for screen
// readers.
func TestOverviewCountsDeliveries(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for channel, statuses := range map[notification.Channel][]notification.Status{
		notification.Email: {notification.Sent, notification.Sent, notification.Failed}, notification.SMS: {notification.Delivered},
	} {
		for i, status := range statuses {
			postgrestest.Add(t, d.store.Pool, postgrestest.Delivery{
				ID: fmt.Sprint(channel, i), EventID: fmt.Sprint(channel, i), Channel: channel, Status: status, LastError: "refused",
			})
		}
	}
	for i := range 3 { // counting again changes nothing
		if i > 0 {
			require.NoError(t, event.On(d.store).CountDeliveries(t.Context()))
		}
		for _, span := range []string{"hour", "day", "week"} {
			_, page := d.get("/?span=" + span)
			require.Contains(t, page, `<a href="/deliveries?channel=EMAIL&amp;status=SENT" class="status sent">2 SENT</a>`)
			require.Contains(t, page, `<a href="/deliveries?channel=SMS&amp;status=DELIVERED" class="status delivered">1 DELIVERED</a>`)
			require.Regexp(t, `<rect class="failed" [^>]*><title>[^<]*: 1 FAILED</title>`, page)
			require.Contains(t, page, `<td data-label="Deliveries">2</td>`)
		}
	}
	postgrestest.Exec(t, d.store, `UPDATE notification SET status = 'SENT', sent_at = now() WHERE status = 'FAILED'`)
	for range 2 {
		_, page := d.get("/")
		require.Contains(t, page, "3 SENT")
		require.NotContains(t, page, `<rect class="failed"`)
		require.NoError(t, event.On(d.store).CountDeliveries(t.Context()))
	}
}

// The overview leaves many new deliveries to the sweep, and then shows the counts of the sweep alone.
func TestOverviewLeavesManyDeliveriesToTheSweep(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	postgrestest.Exec(t, d.store,
		`INSERT INTO delivery_count (since, channel, status, count) VALUES (date_bin('10 minutes', now(), 'epoch'), 'EMAIL', 'FAILED', 7)`)
	const write = `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		SELECT 'many', 'T', 'CUSTOMER', n::text, 'SMS', 'many-' || n, '', '' FROM generate_series($1::int, $2::int) n`
	postgrestest.Exec(t, d.store, write, 1, 9_999)
	_, page := d.get("/")
	require.Contains(t, page, "9999 PENDING")
	require.NotContains(t, page, "7 FAILED")

	postgrestest.Exec(t, d.store, write, 10_000, 10_000)
	_, page = d.get("/")
	require.NotContains(t, page, "PENDING</a>")
	require.Contains(t, page, "7 FAILED")
}

// Commands in a sentence are code, and a source without pending rows has no oldest row.
func TestPagesSetCommandsAsCode(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.console.Sources = []relay.Source{{Name: notification.HeraldSource}}
	postgrestest.Add(t, d.store.Pool, postgrestest.Event{ID: "evt-1", Status: notification.OutboxFailed},
		postgrestest.Delivery{ID: "d1", EventID: "evt-1", Status: notification.Failed, LastError: "sendgrid refused: 400"})
	_, page := d.get("/delivery?id=d1")
	require.Contains(t, page, "<code>starter delivery retry d1</code>")
	_, page = d.get("/")
	require.Contains(t, page, `<td data-label="Oldest">–</td>`)
}

// A Temporal that never answers does not hold up the rest of the overview.
func TestOverviewWithoutTemporal(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.pollers = func(ctx context.Context) (operate.Pollers, error) {
		<-ctx.Done()
		return operate.Pollers{}, ctx.Err()
	}
	status, page := d.get("/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Temporal does not answer in time.")
	require.Contains(t, page, "No sweep has run yet.")
}

// A database of another outbox that never answers does not hold up the rest of the overview.
func TestOverviewWithDeadOutbox(t *testing.T) {
	t.Parallel()

	silent := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	d := newDesk(t)
	d.console.Sources = []relay.Source{
		{Name: notification.HeraldSource},
		{Name: "wallet", Dialect: relay.WalletHub, DatabaseURL: "postgres://herald@" + silent.Addr().String() + "/wallet?sslmode=disable",
			Table: "outbox"},
	}
	status, page := d.get("/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, `<td data-label="Source">herald</td>
      <td data-label="Pending">0</td>`)
	require.Contains(t, page, "unknown: its database did not answer within 1s")
}

// A recipient's page lists the last choices of entities, and says if there are more.
func TestManyChoicesOfEntities(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	postgrestest.Add(t, d.store.Pool, postgrestest.Recipient{UserID: "1"})
	postgrestest.Exec(t, d.store, `INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id, level)
		SELECT 'CUSTOMER', '1', 'ORDER', n, 'ALL' FROM generate_series(1, 200) n`)
	_, page := d.get("/recipient?type=CUSTOMER&id=1")
	require.Equal(t, 200, strings.Count(page, "follows: all"))
	require.NotContains(t, page, "There are more.")
	postgrestest.Exec(t, d.store, `INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id)
		VALUES ('CUSTOMER', '1', 'ORDER', '1')`)
	_, page = d.get("/recipient?type=CUSTOMER&id=1")
	require.Contains(t, page, "muted")
	require.Equal(t, 199, strings.Count(page, "follows: all"))
	require.Contains(t, page, "These are the last 200. There are more.")
}
