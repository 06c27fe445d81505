package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// The pages of one event, and other events between them, do not mix.
func TestDeliveriesByRange(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	first, firstIDs := savePlan(t, s, decided("1", planned(notification.Email), planned(notification.SMS)))
	_, _, err := s.SavePlan(t.Context(), notification.Event{ID: "evt-2", Type: "T"}, []notification.DecidedRecipient{{
		UserType: notification.Customer, UserID: "1", Decisions: map[notification.Channel]notification.Decision{notification.SMS: notification.DecisionSelected},
		Deliveries: []notification.PlannedDelivery{{DeliveryID: "evt-2-customer1-SMS", Channel: notification.SMS, Strategy: notification.Immediate, Priority: notification.Normal}},
	}})
	require.NoError(t, err)
	second, secondIDs := savePlan(t, s, decided("2", planned(notification.Email)))

	for _, tt := range []struct {
		ids  notification.IDRange
		want []notification.Delivery
	}{
		{firstIDs, first},
		{secondIDs, second},
		{notification.IDRange{First: firstIDs.First, Last: secondIDs.Last}, append(first, second...)},
		{notification.IDRange{First: secondIDs.Last + 1, Last: secondIDs.Last + 10}, nil},
		{notification.IDRange{}, nil},
	} {
		got, err := s.Deliveries(t.Context(), "evt-1", tt.ids, false)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
}

// A page is read in two parts, which together are all of it.
func TestDeliveriesThatWait(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	later, past := planned(notification.SMS), planned(notification.Push)
	later.SendAfter, past.SendAfter = at, at.AddDate(-1, 0, 0) // what was to wait and is due by now
	s := postgrestest.New(t)
	all, ids := savePlan(t, s, decided("1", planned(notification.Email), later), decided("2", past), decided("3", planned(notification.Email)))

	waiting, err := s.Deliveries(t.Context(), "evt-1", ids, true)
	require.NoError(t, err)
	immediate, err := s.Deliveries(t.Context(), "evt-1", ids, false)
	require.NoError(t, err)

	require.Len(t, waiting, 2)
	for _, d := range waiting {
		require.False(t, d.SendAfter.IsZero(), d.DeliveryID)
	}
	require.Len(t, immediate, 2)
	for _, d := range immediate {
		require.True(t, d.SendAfter.IsZero(), d.DeliveryID)
	}
	require.ElementsMatch(t, all, append(waiting, immediate...))
}
