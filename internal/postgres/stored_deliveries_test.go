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
	saveOf(t, s, "evt-2", toCustomer("evt-2", "1"))
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
	_, ids := savePlan(t, s, decided("1", planned(notification.Email), later), decided("2", past), decided("3", planned(notification.Email)))

	require.ElementsMatch(t, []string{"evt-1-staff1-SMS", "evt-1-staff2-PUSH"}, read(t, s, ids, true))
	require.ElementsMatch(t, []string{"evt-1-staff1-EMAIL", "evt-1-staff3-EMAIL"}, read(t, s, ids, false))
}
