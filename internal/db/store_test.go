package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// Events cannot use up the connections of deliveries. Here they hold all their connections,
// and a delivery's statement still gets an answer.
func TestOpenTwo(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	url := s.Pool.Config().ConnString()
	events, deliveries, err := db.OpenTwo(t.Context(), url, "events", "deliveries")
	require.NoError(t, err)
	defer events.Close()
	defer deliveries.Close()
	all := events.Pool.Config().MaxConns
	require.Equal(t, s.Pool.Config().MaxConns, all+deliveries.Pool.Config().MaxConns)
	for range all {
		conn := roomtest.Must(events.Pool.Acquire(t.Context()))(t)
		defer conn.Release()
	}
	busy, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, events.Ready(busy), context.DeadlineExceeded)

	require.NoError(t, deliveries.Ready(t.Context()))

	_, _, err = db.OpenTwo(t.Context(), "postgres://host:port", "events", "deliveries")
	require.Error(t, err)
	one, other, err := db.OpenTwo(t.Context(), postgrestest.URL(t)+"&pool_max_conns=1", "events", "deliveries")
	require.NoError(t, err)
	defer one.Close()
	defer other.Close()
	require.Equal(t, [2]int32{1, 1}, [2]int32{one.Pool.Config().MaxConns, other.Pool.Config().MaxConns})
}

func approve(context.Context, map[string]int) error { return nil }

func TestRunScripts(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	scripts := []string{
		"CREATE TABLE said (text text); INSERT INTO said VALUES (current_setting('test.word'));",
		"INSERT INTO said VALUES ('and more')",
	}
	const hostile = "it's; DROP TABLE said"

	require.NoError(t, s.RunScripts(t.Context(), scripts, map[string]string{"test.word": hostile}, approve))
	require.ErrorContains(t,
		s.RunScripts(t.Context(), []string{"INSERT INTO said VALUES ('no more')", "SELECT 1/0"}, nil, approve), "script 2")
	require.Equal(t, []string{"and more", hostile}, postgrestest.Get[[]string](t, s, "SELECT array_agg(text ORDER BY text) FROM said"),
		"all or nothing")
}

// Changed rows are counted, added rows are not. An error of confirm rolls all back.
func TestRunScriptsConfirmed(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool,
		postgrestest.Recipient{UserType: notification.Admin, UserID: "1"}, postgrestest.Recipient{UserType: notification.Admin, UserID: "2"},
		postgrestest.Recipient{UserType: notification.Admin, UserID: "3"})
	postgrestest.Exec(t, s, "UPDATE recipient SET name = 'before'") // perhaps by the same session
	scripts := []string{
		"UPDATE recipient SET name = 'x' WHERE user_id = '1'; DELETE FROM recipient WHERE user_id = '2'",
		"INSERT INTO recipient (user_type, user_id) VALUES ('ADMIN', '4')",
	}
	no := errors.New("no")
	var told map[string]int
	err := s.RunScripts(t.Context(), scripts, nil, func(_ context.Context, changed map[string]int) error {
		told = changed
		return no
	})
	require.ErrorIs(t, err, no)
	require.Equal(t, map[string]int{"recipient": 2}, told)
	require.Equal(t, 3, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient WHERE name = 'before'"))
}
