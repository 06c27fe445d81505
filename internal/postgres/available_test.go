package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// A row comes into the inbox when its first attempt ends, however it ends, and stays where
// it is.
func TestAvailableAt(t *testing.T) {
	t.Parallel()

	ended := func(outcome notification.AttemptOutcome) func(*testing.T, *postgres.Store) {
		return func(t *testing.T, s *postgres.Store) {
			attempt := begin(t, s, socket, 0)
			endAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: attempt.Number, Outcome: outcome, Detail: "why"})
		}
	}
	crashed := func(t *testing.T, s *postgres.Store) { begin(t, s, socket, 0) }
	gaveUp := func(status notification.Status) func(*testing.T, *postgres.Store) {
		return func(t *testing.T, s *postgres.Store) {
			_, err := s.GiveUp(t.Context(), socket, status, "why")
			require.NoError(t, err)
		}
	}
	reopened := func(plan notification.Reopened) func(*testing.T, *postgres.Store) {
		return func(t *testing.T, s *postgres.Store) {
			plan.DeliveryID, plan.RunID, plan.KeepText = socket, "run-1", true
			reopen(t, s, plan)
		}
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	tests := []struct {
		name string
		by   []func(*testing.T, *postgres.Store)
		at   int // the step that sets it, from 1; 0: none does, or one takes it back
	}{
		{name: "planned"},
		{name: "sent", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeSent)}, at: 1},
		{name: "refused, and given up", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeRefused), gaveUp(notification.Failed)}, at: 1},
		{name: "no clear answer of a best effort", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeAmbiguous), gaveUp(notification.Failed)}, at: 1},
		{name: "sent at the second attempt", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeBusy), ended(notification.OutcomeSent)}, at: 1},
		{name: "crashed", by: []func(*testing.T, *postgres.Store){crashed}},
		{name: "crashed, then sent", by: []func(*testing.T, *postgres.Store){crashed, ended(notification.OutcomeSent)}, at: 2},
		{name: "sent, and recorded again", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeSent), func(t *testing.T, s *postgres.Store) {
			endAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: 1, Outcome: notification.OutcomeSent})
		}}, at: 1},
		{name: "crashed until given up", by: []func(*testing.T, *postgres.Store){crashed, crashed, gaveUp(notification.Failed)}, at: 3},
		{name: "given up without an attempt", by: []func(*testing.T, *postgres.Store){gaveUp(notification.Failed)}},
		{name: "cancelled", by: []func(*testing.T, *postgres.Store){crashed, gaveUp(notification.Cancelled)}},
		{name: "retried at once", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeRefused), gaveUp(notification.Failed), reopened(notification.Reopened{})}, at: 1},
		{name: "retried for later", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeRefused), gaveUp(notification.Failed), reopened(notification.Reopened{SendAfter: &tomorrow})}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s, id := withSocket(t)
			var want *time.Time
			for i, step := range tt.by {
				step(t, s)
				if i+1 == tt.at {
					want = timesOf(t, s, id).Available
					require.NotNil(t, want)
				}
			}
			require.Equal(t, want, timesOf(t, s, id).Available)
		})
	}
}

// So do the items of a digest, each of them.
func TestAvailableAtOfDigests(t *testing.T) {
	t.Parallel()

	const available = "SELECT count(DISTINCT available_at) || ' of ' || count(available_at) FROM notification"
	s := sealedItems(t, 3)
	attempt := beginDigest(t, s, "digest-1")
	require.Equal(t, "0 of 0", get[string](t, s, available))
	endDigest(t, s, attempt, digestBusy)
	require.Equal(t, "1 of 3", get[string](t, s, available))
	endDigest(t, s, beginDigest(t, s, "digest-1"), digestAccepted)
	require.Equal(t, "1 of 3", get[string](t, s, available))

	s = sealedItems(t, 2)
	beginDigest(t, s, "digest-1") // its process dies
	_, err := s.GiveUpDigest(t.Context(), "digest-1", notification.Failed, "why")
	require.NoError(t, err)
	require.Equal(t, "1 of 2", get[string](t, s, available))
}
