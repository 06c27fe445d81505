package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/rules"
)

const restaurant = "testdata/restaurant"

func load(t *testing.T, dir string) *rules.Folder {
	t.Helper()
	folder, err := rules.Load(dir)
	require.NoError(t, err)
	return folder
}

func write(t *testing.T, s *db.DB, folder *rules.Folder) error {
	t.Helper()
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	if err := folder.Write(t.Context(), tx); err != nil {
		return err
	}
	return tx.Commit(t.Context())
}

func TestWrite(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for range 2 { // the second time nothing changes
		require.NoError(t, write(t, s, load(t, restaurant)))
	}
	require.Equal(t, []string{
		"EMAIL AGGREGATE 01:30:00 08:30:00 {MANAGER}", "PUSH IMMEDIATE 00:05:00", "SMS IMMEDIATE 00:05:00", "WEBSOCKET IMMEDIATE 00:05:00",
	}, postgrestest.List(t, s, `
		SELECT concat_ws(' ', channel_type, delivery_strategy, digest_window, digest_at, roles)
		FROM event_type_channel_routing ORDER BY channel_type`))
	require.Equal(t, "<p>New reservation from <b>{{.payload.customer.name}}</b></p>", postgrestest.Get[string](t, s,
		"SELECT body FROM notification_template WHERE (event_type, channel) = ('RESERVATION_REQUESTED', 'EMAIL')"))
}
