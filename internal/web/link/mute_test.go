package link

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// A GET asks, a POST mutes, and the page undoes it. Another POST changes nothing.
func TestMute(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	token := tokenOf(t, links.Mute(notification.Email, ada, order))
	for range 2 {
		got := f.look("/mute", token)
		require.Equal(t, "audible", got.state())
		require.Contains(t, got.body, "<h2>Mute order 7?</h2>")
		require.Equal(t, http.StatusOK, f.send(call{method: http.MethodHead, path: "/mute", token: token}).status)
		require.Equal(t, "audible", f.submit("/mute", token, url.Values{"List-Unsubscribe": {"One-Click"}}).state())
	}
	require.Empty(t, f.rows())

	postgrestest.Exec(t, f.store, "INSERT INTO entity_name VALUES ('ORDER', '7', 'Dinner & Wine')")
	ask := f.look("/mute", token)
	for range 2 {
		got := f.submit("/mute", token, ask.fields())
		require.Equal(t, "muted", got.state())
		require.Contains(t, got.body, "<h2>Dinner &amp; Wine is muted</h2>")
		c, _ := links.read(token, muting)
		require.Contains(t, got.body, `<a href="preferences?token=`+c.preferences()+`">`)
		require.Equal(t, []string{"42 mutes ORDER 7"}, f.rows())
	}
	undo := f.look("/mute", token)
	require.Equal(t, "muted", undo.state())
	for range 2 {
		require.Equal(t, "unmuted", f.submit("/mute", token, undo.fields()).state())
		require.Empty(t, f.rows())
	}
}

// Nobody mutes more than the maximum.
func TestMuteTooMany(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	postgrestest.Exec(t, f.store, "INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) "+
		"SELECT 'CUSTOMER', '42', 'RESTAURANT', n::text FROM generate_series(1, $1::int) n", notification.MaxFollows)
	got := f.submit("/mute", tokenOf(t, links.Mute(notification.Email, ada, order)), url.Values{muteField: {muteValue}})
	require.Equal(t, http.StatusUnprocessableEntity, got.status)
	require.Equal(t, "too-many", got.state())
	require.NotContains(t, got.body, "<form")
}

// An entity without a name has the word of the person's language.
func TestMuteInGerman(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	postgrestest.Exec(t, f.store, "UPDATE recipient SET locale = 'de-AT'")
	got := f.look("/mute", tokenOf(t, links.Mute(notification.Email, ada, order)))
	require.Contains(t, got.body, "<h2>Bestellung 7 stummschalten?</h2>")
	require.Contains(t, got.body, "Sie erhalten deswegen auf keinem Kanal mehr Nachrichten.")
}

// A message that names its recipient directly has no link to mute.
func TestNoLinkToMuteThemselves(t *testing.T) {
	t.Parallel()

	patient := notification.Recipient{UserType: "PATIENT", UserID: "7", Email: ada.Email}
	require.Empty(t, links.Mute(notification.Email, patient, notification.Entity{Type: "PATIENT", ID: "7"}))
	require.NotEmpty(t, links.Mute(notification.Email, patient, notification.Entity{Type: "PATIENT", ID: "8"}))
}
