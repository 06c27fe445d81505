package console_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"herald/internal/codec"
	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/web/console"
)

func TestParseRoles(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]console.Roles{
		"":         nil,
		"viewer=*": {console.Viewer: {"*"}},
		" viewer=support , operator=oncall + sre,approver=/boss=1": {
			console.Viewer: {"support"}, console.OnCall: {"oncall", "sre"}, console.Approver: {"/boss=1"},
		},
	} {
		got, err := console.ParseRoles(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{
		"admin=x": `"admin" is no role`, "viewer": "has no groups", "viewer=": "empty group", "viewer=a+": "empty group",
		"viewer=a,viewer=b": "has the role viewer twice", "viewer=a,": `"" is no role`, ",": `"" is no role`,
	} {
		_, err := console.ParseRoles(text)
		require.ErrorContains(t, err, says, text)
	}
}

// The settings of roles need each other.
func TestAccessCheckOfRoles(t *testing.T) {
	t.Parallel()

	const addr = ":8083"
	roles := console.Roles{console.Viewer: {"*"}}
	proxied := console.Access{UserHeader: "X-User", Origin: "https://herald.example", GroupsHeader: "X-Groups", Roles: roles}
	require.NoError(t, proxied.Check(addr))
	without := proxied
	without.Roles = nil
	require.ErrorContains(t, without.Check(addr), "CONSOLE_GROUPS_HEADER needs CONSOLE_ROLES")
	without = proxied
	without.GroupsHeader = ""
	require.ErrorContains(t, without.Check(addr), "CONSOLE_ROLES needs CONSOLE_GROUPS_HEADER")
	require.ErrorContains(t, console.Access{GroupsHeader: "X-Groups", Roles: roles}.Check("127.0.0.1:1"),
		"CONSOLE_GROUPS_HEADER needs CONSOLE_USER_HEADER")
}

// tried is a request for an action, and the roles that allow it; viewing: all of them.
type tried struct {
	roles string
	path  string
	form  url.Values // nil: GET
}

const viewing = "viewer operator approver editor"

// everyAction lists the actions that people may take. A new one needs its request here.
var everyAction = map[string]tried{
	"GET /{$}":        {viewing, "/", nil},
	"GET /events":     {viewing, "/events", nil},
	"GET /event":      {viewing, "/event?id=evt-1", nil},
	"GET /simulation": {"approver editor", "/simulation?id=evt-1", nil},
	"GET /deliveries": {viewing, "/deliveries", nil},
	"GET /delivery":   {viewing, "/delivery?id=waits", nil},
	"GET /why":        {viewing, "/why?event=evt-1&recipient=CUSTOMER/1&channel=SMS", nil},
	"GET /recipient":  {viewing, "/recipient?type=CUSTOMER&id=1", nil},
	"GET /rules":      {viewing, "/rules", nil},
	"GET /templates":  {viewing, "/templates", nil},
	"POST /templates": {"approver editor", "/templates",
		url.Values{"event": {"evt-1"}, "recipient": {"CUSTOMER/1"}, "channel": {"EMAIL"}}},
	"template preview":    {"editor", "/templates", url.Values{"type": {"PROMOTION"}, "payload": {"{}"}, "recipient": {"CUSTOMER/1"}}},
	"GET /check":          {viewing, "/check", nil},
	"POST /check":         {viewing, "/check", url.Values{}},
	"GET /audit":          {viewing, "/audit", nil},
	"GET /search":         {viewing, "/search", nil},
	"POST /search":        {viewing, "/search", url.Values{"text": {"evt-1"}}},
	"POST /change":        {viewing, "/change", url.Values{"change": {"none"}, "id": {"waits"}}},
	"/":                   {viewing, "/none", nil},
	"/codec/":             {viewing, "/codec/decode", url.Values{}},
	"delivery cancel":     changed("operator", "delivery cancel", "waits"),
	"delivery send-now":   changed("operator", "delivery send-now", "waits"),
	"delivery retry":      changed("operator", "delivery retry", "waits"),
	"delivery reschedule": changed("operator", "delivery reschedule", "waits"),
	"event cancel":        changed("operator", "event cancel", "evt-1"),
	"event retry":         changed("operator", "event retry", "evt-1"),
	"event approve":       changed("approver", "event approve", "evt-1"),
	"event reject":        changed("approver", "event reject", "evt-1"),
}

func changed(roles, change, id string) tried {
	return tried{roles, "/change", url.Values{"change": {change}, "id": {id}, "until": {"2026-12-24T18:00"}}}
}

// roleDesk returns a desk behind a proxy. Each role has a group of its name.
func roleDesk(t *testing.T) (d *desk, planned *int) {
	t.Helper()
	d, planned = newDesk(t), new(int)
	temporal := mocks.NewClient(t)
	temporal.On("DescribeWorkflow", mock.Anything, mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("none")).Maybe()
	d.console.Operator = func(order operate.Order) *operate.Operator {
		*planned++
		return &operate.Operator{Order: order, DB: d.store, Launcher: &launch.Launcher{Client: temporal, Prefix: "test"}}
	}
	d.console.Access = console.Access{
		UserHeader: "X-User", GroupsHeader: "X-Groups", Origin: "https://herald.example",
		Roles: must(console.ParseRoles("viewer=viewer,operator=operator+sre,approver=approver,editor=editor"))(t),
	}
	d.console.Codec = converter.NewPayloadCodecHTTPHandler(codec.Codec{})
	d.server.Close()
	d.server = httptest.NewServer(d.console.Handler())
	t.Cleanup(d.server.Close)
	postgrestest.Add(t, d.store.Pool, postgrestest.Recipient{UserID: "1"},
		postgrestest.Event{ID: "evt-1", Type: "PROMOTION", Status: notification.OutboxProcessed},
		postgrestest.Delivery{ID: "waits", EventID: "evt-1", UserID: "1"})
	postgrestest.Exec(t, d.store, `INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', 'PROCESSING', 'AWAITING_APPROVAL')`)
	postgrestest.Exec(t, d.store, `INSERT INTO event_approval (event_id) VALUES ('evt-1')`)
	return d, planned
}

// as asks for an action in the name of a person.
func (d *desk) as(name, groups string, action tried) (int, string) {
	d.t.Helper()
	method := http.MethodGet
	if action.form != nil {
		method = http.MethodPost
	}
	request := must(http.NewRequestWithContext(d.t.Context(), method, d.server.URL+action.path, strings.NewReader(action.form.Encode())))(d.t)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-User", name)
	request.Header.Set("X-Groups", groups)
	return d.do(request)
}

// Each action is possible with its roles alone. Without one of them, the console reads and plans
// nothing.
func TestEachActionNeedsItsRole(t *testing.T) {
	t.Parallel()

	require.Equal(t, slices.Sorted(maps.Keys(everyAction)), console.Actions(), "each action has its request in this test")
	d, planned := roleDesk(t)
	for _, pattern := range d.console.Patterns() {
		require.Contains(t, everyAction, pattern)
	}
	for name, action := range everyAction {
		for _, role := range append(strings.Fields(viewing), "", "stranger") {
			*planned = 0
			status, page := d.as("ada", "other, "+role, action)
			if role != "" && slices.Contains(strings.Fields(action.roles), role) {
				require.NotEqual(t, http.StatusForbidden, status, "%s as %q: %s", name, role, page)
				continue
			}
			require.Equal(t, http.StatusForbidden, status, "%s as %q: %s", name, role, page)
			require.Contains(t, page, "You need the role")
			require.Contains(t, page, "these groups of yours: other")
			require.Zero(t, *planned)
		}
	}
}

// A page shows the changes that a person may not make, and who may.
func TestPagesSayWhoMay(t *testing.T) {
	t.Parallel()

	d, _ := roleDesk(t)
	_, page := d.as("ada", "viewer", tried{path: "/delivery?id=waits"})
	require.Contains(t, page, "<button disabled>Cancel …</button>")
	require.Contains(t, page, "You need the role operator (groups operator, sre).")
	require.Contains(t, page, `ada <span>viewer</span>`)
	_, page = d.as("ada", "viewer", tried{path: "/templates"})
	require.Contains(t, page, `<button class="main" disabled>Preview</button>`)
	require.Contains(t, page, "You need the role approver (group approver) or editor (group editor).")
	_, page = d.as("ada", "approver", tried{path: "/templates"})
	require.Contains(t, page, `<button class="main">Preview</button>`)
	require.Contains(t, page, "For a payload of your own: You need the role editor (group editor).")
	_, page = d.as("ada", "viewer,sre", tried{path: "/delivery?id=waits"})
	require.Contains(t, page, "<button>Cancel …</button>")
	require.NotContains(t, page, "You need")
	require.Contains(t, page, `ada <span>viewer, operator</span>`)
	_, page = d.as("ada", "approver", tried{path: "/event?id=evt-1"})
	require.Contains(t, page, "<button>Approve …</button>")
	require.Contains(t, page, "<button disabled>Retry …</button>")
	require.Contains(t, page, "Who would get it")
	_, page = d.as("ada", "", tried{path: "/event?id=evt-1"})
	require.Contains(t, page, "You have no role in this console")
	require.NotContains(t, page, "PROMOTION")
	_, page = d.as("ada", "viewer", tried{path: "/event?id=evt-1"})
	require.NotContains(t, page, "Who would get it")
	require.NotContains(t, page, "Preview its texts")
	require.Contains(t, page, "You need the role approver (group approver) or editor (group editor).", "to see who would get it")
}

// An answer in JSON needs the same role as the page.
func TestAnswersNeedTheSameRole(t *testing.T) {
	t.Parallel()

	d, _ := roleDesk(t)
	for groups, want := range map[string]int{"viewer": http.StatusForbidden, "stranger": http.StatusForbidden, "approver": http.StatusOK} {
		request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/simulation?id=evt-1", nil))(t)
		request.Header = http.Header{"X-User": {"ada"}, "X-Groups": {groups}, "Accept": {"application/json"}}
		status, text := d.do(request)
		require.Equal(t, want, status, "%s: %s", groups, text)
	}
}

// Who caused an event cannot approve it: by `starter emit`, or as the event's actor.
func TestCausersDoNotApprove(t *testing.T) {
	t.Parallel()

	for name, sql := range map[string]string{
		"emitter": `INSERT INTO operator_action (actor, command, target) VALUES ('ada', 'emit', 'evt-1')`,
		"actor":   `UPDATE event_outbox SET actor_type = 'STAFF', actor_id = 'ada'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := roleDesk(t)
			postgrestest.Exec(t, d.store, sql)
			_, page := d.as("ada", "approver", tried{path: "/event?id=evt-1"})
			require.Contains(t, page, "<button disabled>Approve …</button>")
			require.Contains(t, page, "You caused this event, so somebody else has to approve it.")
			require.Contains(t, page, "<button>Reject …</button>")
			_, page = d.as("bob", "approver", tried{path: "/event?id=evt-1"})
			require.Contains(t, page, "<button>Approve …</button>")

			_, page = d.as("ada", "approver", changed("", "event approve", "evt-1"))
			require.NotContains(t, page, "Confirm: event approve")
			require.Contains(t, page, "somebody else has to approve it")
		})
	}
}

// Two headers of one name may come from the person and the proxy.
func TestNamesInTwoHeaders(t *testing.T) {
	t.Parallel()

	d, _ := roleDesk(t)
	for _, header := range []string{"X-User", "X-Groups"} {
		request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/audit", nil))(t)
		request.Header = http.Header{"X-User": {"ada"}, "X-Groups": {"viewer"}}
		request.Header.Add(header, "viewer")
		status, _ := d.do(request)
		require.Equal(t, http.StatusForbidden, status, header)
	}
}
