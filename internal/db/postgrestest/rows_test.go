package postgrestest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

func TestDefaultsFitTogether(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	staff := postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10"}
	postgrestest.Add(t, s.Pool,
		postgrestest.Recipient{}, staff, postgrestest.Device{}, postgrestest.Member{}, postgrestest.Preference{},
		postgrestest.CategoryPreference{}, postgrestest.UserSettings{}, postgrestest.GroupSetting{},
		postgrestest.Suppression{AddressHash: make([]byte, 32)},
		postgrestest.Route{}, postgrestest.Route{Channel: notification.SMS}, postgrestest.Target{}, postgrestest.Template{},
		postgrestest.Category{}, postgrestest.Escalation{}, postgrestest.Cap{Spacing: time.Second}, postgrestest.Approval{},
		postgrestest.Event{}, postgrestest.ProcessedEvent{}, postgrestest.Decisions{}, postgrestest.Delivery{}, postgrestest.Attempt{},
		postgrestest.Retry{}, postgrestest.Receipt{}, postgrestest.FollowUp{}, postgrestest.Throttle{},
		postgrestest.UserType{Name: "PATIENT", Who: "patient", Audience: "patient"}, postgrestest.EventApproval{}, postgrestest.Action{},
		postgrestest.SourceStart{}, postgrestest.SourceRow{}, postgrestest.Turn{Name: "EMAIL", NextAt: time.Now()})

	staff.Inactive = true
	postgrestest.AddMissing(t, s.Pool, staff, postgrestest.Recipient{UserID: "43", Inactive: true})
	postgrestest.AddMany(t, s.Pool, 2, postgrestest.Recipient{Inactive: true}, postgrestest.Expressions{"user_id": "(43 + i)::text"})
	require.Equal(t, []string{"43", "44", "45"}, postgrestest.List(t, s, "SELECT user_id FROM recipient WHERE NOT active ORDER BY user_id"))
}
