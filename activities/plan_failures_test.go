package activities_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// A delivery whose own time cannot be read fails, and says why; it has no text to send.
// The other channel's goes on.
func TestPlanDeliveriesWithoutItsTime(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients = db.page.Recipients[:1]
	db.rules.Routing[1].Strategy, db.rules.Routing[1].SendAtPath = notification.Delayed, "startsAt"
	_, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})

	require.NoError(t, err)
	planned := db.decided[0].Deliveries
	require.Len(t, planned, 2)
	require.Empty(t, planned[0].Problem)
	require.Equal(t, "send_at_path: startsAt is not in the payload", planned[1].Problem)
	require.Zero(t, planned[1].SendAfter)
}

// One rule that finds nothing does not silence the others, but is told.
func TestPlanDeliveriesTellsOfABrokenRule(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.rules.Recipients = []notification.EventRecipients{{EntityType: "RESTAURANT", EntityIDPath: "restaurantId"}, {EntityType: "CUSTOMER", EntityIDPath: "customer.id"}}
	result, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.Empty(t, result.Outcome)
	require.Equal(t, "customer.id is not in the payload", result.Problem)
	require.Len(t, result.Batch.Deliveries, 4)
}

// People whom nobody can tell are named and counted, once for an event of many pages,
// and do not silence the others.
func TestPlanDeliveriesTellsOfPeoplePassedOver(t *testing.T) {
	t.Parallel()

	const doctors, ids = "2 members of RESTAURANT/5 have the user type DOCTOR, which is not in user_type", "1 member of RESTAURANT/5 of type GUEST has an id that is empty, longer than 64 bytes or not printable"
	passedOver := []notification.PassedOver{
		{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, UserType: "DOCTOR", Count: 2},
		{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, UserType: notification.Guest, Known: true, Count: 1},
	}
	db := reservation()
	db.page.PassedOver = passedOver
	result, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
	require.NoError(t, err)
	require.Empty(t, result.Outcome)
	require.Len(t, result.Batch.Deliveries, 4)
	require.Equal(t, doctors+"; "+ids, result.Problem)

	db.page.Recipients = nil
	m := newMeters()
	a := planner(db)
	require.NoError(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Pages: 1}))
	require.Equal(t, map[string]int64{"herald_recipients_passed_over UNKNOWN_USER_TYPE": 2, "herald_recipients_passed_over UNUSABLE_USER_ID": 1}, m.counted())
	result, err = plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
	require.NoError(t, err)
	require.Equal(t, notification.NoRecipients, result.Outcome)
	require.Equal(t, doctors+"; "+ids, result.Problem)
}

// A text that fails fails one delivery; its neighbours go on.
func TestPlanDeliveriesWithABrokenTemplate(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.rules.Templates = append(db.rules.Templates, notification.Template{EventType: "*", Channel: "EMAIL", Locale: "it", Title: "t", Body: "{{.payload.children}}"})
	db.page.Recipients[0].Locale = "it"
	result, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.Len(t, result.Batch.Deliveries, 4, "the broken one too: its workflow gives it up")

	problems := map[string]string{}
	for _, r := range db.decided {
		for _, d := range r.Deliveries {
			if d.Problem != "" {
				problems[d.DeliveryID] = d.Problem
				require.Empty(t, d.Body)
				continue
			}
			require.NotEmpty(t, d.Body)
		}
	}
	require.Len(t, problems, 1)
	require.Contains(t, problems["evt-1-staff10-EMAIL"], "*/EMAIL/it")
	require.Contains(t, problems["evt-1-staff10-EMAIL"], "children")
}

// A zone that nobody knows is UTC: it costs no message.
func TestPlanDeliveriesInAnUnknownZone(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients[0].Timezone = "europe/rome"
	db.page.Recipients[0].Preferences = []notification.Preference{{Channel: notification.Email, Enabled: true, QuietHours: never}}
	_, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.NotEmpty(t, db.decided[0].Deliveries)
	for _, d := range db.decided[0].Deliveries {
		require.Empty(t, d.Problem)
	}
}

func TestPlanDeliveriesFailure(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.err = fmt.Errorf("read rules: %w", notification.ErrNoEvent)
	_, err := plan(db, activities.PlanInput{EventID: "evt-404"})
	requireFailure(t, err, activities.NoSuchRow, true, 0)

	_, err = plan(db, activities.PlanInput{EventID: "evt-1", Source: "orders"})
	requireFailure(t, err, activities.UnknownSource, false, 5*time.Second)

	for _, db := range []*plans{{err: errors.New("connection reset")}, func() *plans { db := reservation(); db.later = errors.New("connection reset"); return db }()} {
		_, err := plan(db, activities.PlanInput{EventID: "evt-1"})
		requireFailure(t, err, "", false, 0)
	}
}
