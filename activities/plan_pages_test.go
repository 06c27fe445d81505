package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// One call plans as many pages as it is asked for, and says which channels there
// is something for and where it ended.
func TestPlanDeliveriesOfSeveralPages(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Next = &notification.Cursor{UserID: "11"}
	most := 5
	db.page.Settings = []notification.Setting{{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, Channel: notification.Email, Enabled: true, MaxRecipients: &most}}

	result, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 3})

	require.NoError(t, err)
	require.Equal(t, 3, db.pages)
	require.Equal(t, 250, db.limit, "pages of a large event are larger")
	require.Equal(t, activities.PlanResult{
		EventType: "RESERVATION_REQUESTED", Aggregate: notification.Entity{Type: "RESTAURANT", ID: "5"}, Lanes: lanes,
		Next: &notification.Cursor{UserID: "11", Used: notification.Used{"RESTAURANT/5 EMAIL": 5, "RESTAURANT/5 WEBSOCKET": 6}},
	}, result)
}

// The deliveries of an event with few recipients are all that its rows tell of,
// as long as one workflow can make them.
func TestPlanDeliveriesOfAnOnlyPage(t *testing.T) {
	t.Parallel()

	for left, inLanes := range map[int]bool{0: false, 1: false, 496: false, 497: true} { // beside the four that are planned
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			t.Parallel()

			db := reservation()
			for range left {
				db.left = append(db.left, notification.Delivery{Channel: notification.Email})
			}
			result, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
			require.NoError(t, err)
			require.Nil(t, result.Next)
			if inLanes {
				require.Equal(t, lanes, result.Lanes)
				require.Empty(t, result.Batch)
				return
			}
			require.Empty(t, result.Lanes)
			require.Len(t, result.Batch.Deliveries, left+4)
			require.Equal(t, policies, result.Batch.Policies)
		})
	}
}

// Those who were planned and have left since are told, or told why not, though
// nobody else is there any more.
func TestPlanDeliveriesForThoseWhoLeft(t *testing.T) {
	t.Parallel()

	for outcome, change := range map[notification.EventOutcome]func(db *plans){
		notification.NoRouting:    func(db *plans) { db.rules.Routing = nil },
		notification.NoRecipients: func(db *plans) { db.page.Recipients = nil },
	} {
		db := reservation()
		db.left = []notification.Delivery{{DeliveryID: "evt-1-staff9-EMAIL", Channel: notification.Email}}
		change(db)
		result, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
		require.NoError(t, err)
		require.Equal(t, outcome, result.Outcome)
		require.Equal(t, db.left, result.Batch.Deliveries)
	}
}

// Planning stops when its activity has ended, and stores no texts that lack for that.
func TestPlanDeliveriesCancelled(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	db := reservation()
	a := planner(db)
	_, err := runWithin[activities.PlanResult](ctx, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Pages: 1})
	require.ErrorContains(t, err, "cancel")
	require.Empty(t, db.decided)
}

// A template that is slow for everybody costs its time three times, and not for
// each recipient; others are rendered as ever.
func TestPlanDeliveriesWithASlowTemplate(t *testing.T) {
	t.Parallel()

	db := reservation()
	slow := strings.Repeat("{{range $.payload.many}}", 8) + strings.Repeat("{{end}}", 8)
	db.rules.Event.Payload = []byte(`{"pax": 4, "restaurantId": 5, "many": [` + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + `]}`)
	db.rules.Templates = append(db.rules.Templates, notification.Template{EventType: "*", Channel: "EMAIL", Locale: "en", Title: "t", Body: slow})
	db.page.Recipients = nil
	for i := range 50 {
		db.page.Recipients = append(db.page.Recipients, staff(fmt.Sprint(i), "Ada"))
	}
	_, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
	require.NoError(t, err)
	for _, r := range db.decided {
		require.Empty(t, r.Deliveries[0].Problem)
		require.Equal(t, "template */EMAIL/en: body: took longer than 100 ms", r.Deliveries[1].Problem)
	}
}
