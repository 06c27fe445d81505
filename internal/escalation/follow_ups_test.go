package escalation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

var bothKinds = []notification.FollowUpKind{notification.FollowUpDeadLetter, notification.FollowUpEscalation}

// FollowUps returns the oldest of each kind, so that neither kind waits for the other.
func TestFollowUps(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	state := roomtest.Must(escalation.On(s).FollowUpState(t.Context()))(t)
	require.Equal(t, notification.FollowUpState{}, state)
	postgrestest.Add(t, s.Pool,
		postgrestest.FollowUp{Since: time.Now().Add(-time.Hour)}, postgrestest.FollowUp{DeliveryID: "d2"},
		postgrestest.FollowUp{DeliveryID: "d3"}, postgrestest.FollowUp{DeliveryID: "d4", Kind: notification.FollowUpEscalation})

	read := func() (found []string) {
		rows := roomtest.Must(escalation.On(s).FollowUps(t.Context(), bothKinds, 2))(t)
		for _, row := range rows {
			found = append(found, fmt.Sprint(row.DeliveryID, " ", row.Kind))
		}
		return found
	}
	require.Equal(t, []string{"d1 DEAD_LETTER", "d2 DEAD_LETTER", "d4 ESCALATION"}, read())
	state = roomtest.Must(escalation.On(s).FollowUpState(t.Context()))(t)
	require.Equal(t, 4, state.Pending)
	require.Equal(t, time.Hour, state.OldestPending.Truncate(time.Hour))

	rows := roomtest.Must(escalation.On(s).FollowUps(t.Context(), bothKinds, 1))(t)
	require.NoError(t, escalation.On(s).EndFollowUps(t.Context(), []int64{rows[0].ID, rows[1].ID}))
	require.Equal(t, []string{"d2 DEAD_LETTER", "d3 DEAD_LETTER"}, read())
}

// Only a delivery that is still FAILED has a dead letter.
func TestDeadLetterOf(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	before := postgrestest.Get[time.Time](t, s, "SELECT clock_timestamp()")
	postgrestest.Add(t, s.Pool,
		postgrestest.Delivery{ID: "bounced", CorrelationID: "c-1", UserID: "1", Address: "ada@example.com", Status: notification.Failed,
			Attempts: 2, LastError: "bounced: no such mailbox", ReceiptFailed: true},
		postgrestest.Delivery{ID: "retried", CorrelationID: "c-1", UserID: "3", Address: "eve@example.com", Attempts: 1})

	letter, failed, err := escalation.On(s).DeadLetterOf(t.Context(), "bounced")
	require.NoError(t, err)
	require.True(t, failed)
	require.WithinRange(t, letter.FailedAt, before, postgrestest.Get[time.Time](t, s, "SELECT clock_timestamp()"))
	letter.FailedAt = time.Time{}
	require.Equal(t, notification.DeadLetter{
		DeliveryID: "bounced", EventID: "evt-1", CorrelationID: "c-1", Channel: notification.Email, UserType: notification.Customer, UserID: "1",
		Reason: "bounced: no such mailbox", Attempts: 2,
	}, letter)
	for _, id := range []string{"retried", "purged"} {
		_, failed, err := escalation.On(s).DeadLetterOf(t.Context(), id)
		require.NoError(t, err)
		require.False(t, failed, id)
	}
}
