package check_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/check"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/migrations"
)

func TestTheExampleHasNoMistakes(t *testing.T) {
	t.Parallel()

	i := newInstallation(t)
	i.event(t, "evt-1", "RESERVATION_REQUESTED", "RESTAURANT", `{"restaurantId": 5}`)
	i.event(t, "evt-2", "REVIEW_POSTED", "RESTAURANT", `{"stars": 5, "guest": "Ada", "text": "fine"}`)
	result := i.check(t, nil)

	require.Empty(t, result.Mistakes)
	require.Empty(t, result.NotChecked)
	require.Equal(t, []string{"schema", "directory", "rules", "templates", "channels", "providers"}, result.Checked)
	require.Empty(t, i.sent(t), "a check sends nothing")
}

// Some events tell nobody by design, which is no mistake.
func TestNoMistakes(t *testing.T) {
	t.Parallel()

	for name, sql := range map[string]string{
		"an event that cancels another one": `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload,
			cancels) VALUES ('evt-2', 'VISIT_OFF', 'VISIT', '5', '{}', 'evt-1')`,
		"events of a source that goes to a topic": `INSERT INTO event_outbox (event_id, event_type, source)
			VALUES ('ledger-1', 'BOOKED', 'ledger')`,
	} {
		i := newInstallation(t)
		i.exec(t, sql)
		require.Empty(t, i.check(t, nil).Mistakes, name)

		// Now the event belongs to a source with people, so telling nobody is a mistake.
		i.exec(t, `UPDATE event_outbox SET cancels = NULL, source = 'orders', aggregate_type = 'VISIT', aggregate_id = '5', payload = '{}'`)
		require.NotEmpty(t, i.check(t, nil).Mistakes)
	}
}

// A server that refuses the password answers, so the mistake is the login.
func TestWrongPassword(t *testing.T) {
	t.Parallel()

	address, err := url.Parse(postgrestest.New(t).Pool.Config().ConnString())
	require.NoError(t, err)
	address.User = url.UserPassword(address.User.Username(), "verywrong")
	db, err := db.Open(t.Context(), address.String(), "herald-test")
	require.NoError(t, err)
	defer db.Close()

	schema, usable := check.Schema(t.Context(), db, migrations.FS)
	require.False(t, usable)
	found := check.Run(t.Context(), []check.Subject{schema}).Mistakes
	require.Len(t, found, 1)
	require.Equal(t, "the database refuses the login: SQLSTATE 28P01", found[0].Problem)
	require.Contains(t, found[0].Remedy, "the password in DATABASE_URL")
}
