package postgrestest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// The defaults of all rows fit together, and a field replaces a default.
func TestAdd(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, postgrestest.Recipient{}, postgrestest.Device{}, postgrestest.Member{}, postgrestest.Route{}, postgrestest.Audience{}, postgrestest.Template{})
	for _, status := range []notification.OutboxStatus{"", notification.OutboxProcessed, notification.OutboxFailed} {
		postgrestest.Add(t, s.Pool, postgrestest.Event{ID: "evt-" + string(status), Status: status, CreatedAt: time.Now()})
	}
	for _, status := range []notification.Status{"", notification.Sent, notification.Delivered, notification.Failed, notification.Cancelled} {
		postgrestest.Add(t, s.Pool, postgrestest.Delivery{ID: "d-" + string(status), Status: status, UserID: "7" + string(status)})
	}
	postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserID: "43", Inactive: true}, postgrestest.Route{Channel: notification.SMS, Roles: []string{"STAFF", "CHEF"}, Delay: time.Hour})

	require.Equal(t, []string{"10 true", "42 true", "43 false"}, postgrestest.List(t, s, "SELECT user_id || ' ' || active FROM recipient ORDER BY 1"))
	require.Equal(t, []string{"EMAIL 00:00:00", "SMS 01:00:00 {STAFF,CHEF}"}, postgrestest.List(t, s, "SELECT concat_ws(' ', channel_type, delay, roles) FROM event_type_channel_routing ORDER BY 1"))
	require.Equal(t, 5, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
}
