package link

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// chooseToken is ada's token for the preferences.
func chooseToken(t *testing.T) string {
	t.Helper()
	return tokenOf(t, links.Preferences(notification.Email, ada))
}

// history returns the changes of preferences.
func (f *fixture) history() []string {
	f.t.Helper()
	return postgrestest.List(f.t, f.store, `
		SELECT concat_ws(' ', channel, category, setting, new_value, changed_by)
		FROM   preference_change
		ORDER BY id`)
}

// The page shows what is optional, and nothing else about the person. GET and HEAD change nothing.
func TestShowPreferences(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	token := chooseToken(t)
	postgrestest.Exec(t, f.store, "UPDATE recipient SET name = 'Ada Brooks', timezone = 'Asia/Tokyo'")
	got := f.look("/preferences", token)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "choices", got.state())
	require.Equal(t, []string{"EMAIL/", "EMAIL/offers", "PUSH/", "PUSH/offers"}, got.fields()["shown"])
	require.Equal(t, []string{"EMAIL/", "EMAIL/offers", "PUSH/", "PUSH/offers"}, got.fields()["on"])
	require.Contains(t, got.body, english.MustSend)
	for _, secret := range []string{"Ada", "ada@", ada.UserID + `"`, "Asia", "bookings", "digest", "CUSTOMER"} {
		require.NotContains(t, got.body, secret)
	}
	require.Empty(t, f.send(call{method: http.MethodHead, path: "/preferences", token: token}).body)
	require.Empty(t, f.rows())
}

// A POST stores what was changed, and only that, as changed by a link.
func TestChoose(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	token := chooseToken(t)
	postgrestest.Exec(t, f.store, "UPDATE event_type_channel_routing SET delivery_strategy = 'AGGREGATE', digest_at = '09:00' "+
		"WHERE channel_type = 'EMAIL' AND NOT mandatory")
	shown := f.look("/preferences", token).fields()
	require.True(t, shown.Has("digest_at"))

	same := f.submit("/preferences", token, shown)
	require.Equal(t, "saved", same.state())
	require.Empty(t, f.history(), "nothing was changed")

	fields := without(shown, "on", "EMAIL/offers")
	fields.Set("digest_at", "07:30")
	got := f.submit("/preferences", token, fields)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "saved", got.state())
	require.Contains(t, got.body, `role="status"`)
	require.Equal(t, []string{"EMAIL/", "PUSH/", "PUSH/offers"}, got.fields()["on"])
	require.Equal(t, "07:30", got.fields().Get("digest_at"))
	require.ElementsMatch(t, []string{"EMAIL offers ENABLED false link", "DIGEST_AT 07:30 link"}, f.history())
	require.Equal(t, "link", postgrestest.Get[string](t, f.store, "SELECT changed_by FROM user_category_preferences"))

	stale := f.submit("/preferences", token, shown)
	require.NotContains(t, stale.fields()["on"], "EMAIL/offers", "a form from before the change does not undo it")
	require.Equal(t, "07:30", stale.fields().Get("digest_at"))

	fields = got.fields()
	fields.Add("on", "EMAIL/offers")
	fields.Set("digest_at", "")
	require.Equal(t, "saved", f.submit("/preferences", token, fields).state())
	require.False(t, f.off("offers", notification.Email))
	require.ElementsMatch(t, []string{"EMAIL offers ENABLED true link", "DIGEST_AT link"}, f.history()[2:])
}

// A form without a field, such as a mailbox provider's, changes nothing. One that switches off what is
// mandatory, or is no longer there, stores nothing of it, and shows the present choices.
func TestFormsThatAreRefused(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	token := chooseToken(t)
	require.Equal(t, http.StatusOK, f.submit("/preferences", token, url.Values{"List-Unsubscribe": {"One-Click"}}).status)
	for name, fields := range map[string]url.Values{
		"mandatory":     {"shown": {"EMAIL/offers", "EMAIL/bookings"}},
		"no category":   {"shown": {"EMAIL/offers", "EMAIL/news"}},
		"no channel":    {"shown": {"FAX/"}},
		"twice":         {"shown": {"EMAIL/offers", "EMAIL/offers"}},
		"no digests'":   {"shown": {"EMAIL/offers"}, "digest_at": {"25:00"}},
		"far too long":  {"shown": {"EMAIL/offers"}, "x": {string(make([]byte, formLimit))}},
		"no such thing": {"shown": {""}},
	} {
		got := f.submit("/preferences", token, fields)
		require.Equal(t, http.StatusUnprocessableEntity, got.status, name)
		require.Equal(t, "not-saved", got.state())
		require.Contains(t, got.body, `role="alert"`)
		require.Contains(t, got.fields()["on"], "EMAIL/offers")
		require.Equal(t, http.StatusUnprocessableEntity, f.send(call{method: http.MethodPost, path: "/preferences", token: token, accept: "*/*",
			contentType: "application/x-www-form-urlencoded", body: fields.Encode()}).status)
	}
	require.Empty(t, f.rows())
}

// A channel that somebody left as a whole can be switched on again, although nothing over it has a category.
func TestSwitchAChannelOnAgain(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	token := chooseToken(t)
	postgrestest.Exec(t, f.store, "DELETE FROM event_category")
	postgrestest.Add(t, f.store.Pool,
		postgrestest.Preference{UserType: ada.UserType, UserID: ada.UserID, Channel: notification.SMS, Off: true})
	got := f.look("/preferences", token)
	require.Equal(t, []string{"EMAIL/", "SMS/"}, got.fields()["shown"])
	require.Equal(t, []string{"EMAIL/"}, got.fields()["on"])
	fields := got.fields()
	fields.Add("on", "SMS/")
	require.Equal(t, "saved", f.submit("/preferences", token, fields).state())
	require.Equal(t, []string{"42 SMS t"}, f.rows())
}

// Where everything is mandatory, the page says so.
func TestNothingToChoose(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	postgrestest.Exec(t, f.store, "UPDATE event_type_channel_routing SET mandatory = true")
	got := f.look("/preferences", chooseToken(t))
	require.Contains(t, got.body, english.NothingToChoose)
	require.NotContains(t, got.body, "<form")
}
