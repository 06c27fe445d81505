package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/notification"
)

// A channel that may not serve somebody's user type does not reach them, even with an address.
func TestReach(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `INSERT INTO user_type (user_type, who, audience) VALUES ('VISITOR', 'visitor', 'visitors')`)
	postgrestest.Exec(t, s, `INSERT INTO channel_user_type (channel_type, user_type) VALUES ('SMS', 'VISITOR'), ('PUSH', 'VISITOR')`)
	supported, err := explain.Explainer{DB: s}.Supported(t.Context(), "VISITOR")
	require.NoError(t, err)
	require.Equal(t, []notification.Channel{notification.Push, notification.SMS}, supported)

	states := map[notification.Channel]explain.ReachState{}
	visitor := notification.Recipient{UserType: "VISITOR", UserID: "1", Email: "ada@example.com", Phone: "+393401234567"}
	for _, reach := range explain.ReachOf(visitor, supported, time.Now()) {
		states[reach.Channel] = reach.State
	}
	require.Equal(t, map[notification.Channel]explain.ReachState{
		notification.Email: explain.Unsupported, notification.SMS: explain.Reachable, notification.Push: explain.NoAddress,
		notification.Slack: explain.Unsupported, notification.Webhook: explain.Unsupported, notification.WebSocket: explain.Unsupported,
	}, states)
}
