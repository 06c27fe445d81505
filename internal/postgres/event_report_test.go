package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

func report(t *testing.T, s *postgres.Store, limit int) postgres.EventReport {
	t.Helper()
	got, err := s.EventReport(t.Context(), "evt-1", limit)
	require.NoError(t, err)
	return got
}

func TestEventReport(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, s.InsertEvents(t.Context(), []notification.Event{producedEvent("evt-1")}))
	claim(t, s, "a", 1)
	end(t, s, "a", notification.ClaimStarted, "evt-1")
	later := planned(notification.Push)
	later.SendAfter = time.Date(2030, 1, 1, 8, 0, 0, 0, time.UTC)
	savePlan(t, s, decided("10", planned(notification.Email), later), decided("9"))
	begin(t, s, "evt-1-staff10-EMAIL", 0)
	setStatus(t, s, "evt-1-staff10-EMAIL", notification.Failed)

	got := report(t, s, 10)

	require.Equal(t, "RESERVATION_REQUESTED", got.Outbox.EventType)
	require.Equal(t, "RESTAURANT", got.Outbox.AggregateType)
	require.Equal(t, "5", got.Outbox.AggregateID)
	require.Equal(t, "order-1", got.Outbox.CorrelationID)
	require.Equal(t, "PROCESSED", got.Outbox.Status)
	require.Equal(t, 1, got.Outbox.AttemptCount)
	require.NotNil(t, got.Outbox.PublishedAt)
	require.Nil(t, got.Outbox.LeaseUntil)
	require.Equal(t, "PROCESSING", got.Processed.Status)
	require.Zero(t, got.More)
	require.Len(t, got.Recipients, 2)

	require.Equal(t, "9", got.Recipients[0].UserID, "numbers as numbers")
	require.Empty(t, got.Recipients[0].Deliveries)
	who := got.Recipients[1]
	require.Equal(t, notification.RestaurantUser, who.UserType)
	require.Equal(t, map[notification.Channel]notification.Decision{
		notification.Email: notification.DecisionSelected,
		notification.Push:  notification.DecisionSelected,
		notification.Slack: notification.DecisionNoAddress,
	}, who.Decisions)
	require.Len(t, who.Deliveries, 2)
	mail := who.Deliveries[notification.Email]
	require.Equal(t, "evt-1-staff10-EMAIL", mail.DeliveryID)
	require.Equal(t, notification.Failed, mail.Status)
	require.Equal(t, 1, mail.Attempts)
	require.NotEmpty(t, mail.LastError)
	require.Nil(t, mail.SendAfter)
	push := who.Deliveries[notification.Push]
	require.Equal(t, notification.Pending, push.Status)
	require.True(t, later.SendAfter.Equal(*push.SendAfter))
}

func TestEventReportIsBounded(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emitEvent(t, s, "evt-1")
	var page []notification.DecidedRecipient
	for i := 1; i <= 12; i++ {
		page = append(page, decided(fmt.Sprint(i), planned(notification.Email)))
	}
	savePlan(t, s, page...)

	got := report(t, s, 10)

	require.Len(t, got.Recipients, 10)
	require.Equal(t, 2, got.More)
	require.Equal(t, "10", got.Recipients[9].UserID)
	for _, r := range got.Recipients {
		require.Len(t, r.Deliveries, 1)
	}
}

func TestEventReportOfAPurgedEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, "INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'SUCCESS')")

	got := report(t, s, 10)

	require.Nil(t, got.Outbox)
	require.Equal(t, "SUCCESS", got.Processed.Status)
}

func TestEventReportOfNoEvent(t *testing.T) {
	t.Parallel()

	_, err := postgrestest.New(t).EventReport(t.Context(), "evt-1", 10)
	require.ErrorIs(t, err, notification.ErrNoEvent)
}
