package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// failedMails is evt-1 with n deliveries, each of which failed for good.
func failedMails(t *testing.T, n int) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	exec(t, s, `
		INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error)
		OVERRIDING SYSTEM VALUE
		SELECT i, 'evt-1', 'T', 'CUSTOMER', i::text, 'EMAIL', 'd' || i, '', '', 'FAILED', 'refused: 400'
		FROM   generate_series(1, $1) AS i`, n)
	return s
}

// claimFailed claims page after page of a range.
func claimFailed(t *testing.T, s *postgres.Store, ids notification.IDRange, most int) (all []string) {
	part := notification.Part{EventID: "evt-1", Lane: mails, IDs: ids}
	for {
		found, next, err := s.ClaimFailed(t.Context(), part, most, 4)
		require.NoError(t, err)
		for _, d := range found {
			require.Equal(t, "refused: 400", d.Reason)
			require.Equal(t, notification.Email, d.Channel)
			all = append(all, d.DeliveryID)
		}
		if next == 0 {
			return all
		}
		part.IDs.First = next
	}
}

// The first failures of an event get a failed workflow, whichever batch they are of. A repeat
// finds the same ones.
func TestClaimFailed(t *testing.T) {
	t.Parallel()

	s := failedMails(t, 20)
	exec(t, s, "UPDATE notification SET receipt_failed = true, sent_at = now() WHERE id = 2")
	exec(t, s, "UPDATE notification SET status = 'SENT', sent_at = now() WHERE id = 3")
	for range 2 {
		require.Equal(t, []string{"d1", "d4", "d5", "d6", "d7", "d8"}, claimFailed(t, s, notification.IDRange{First: 1, Last: 8}, 10))
		require.Equal(t, []string{"d11", "d12", "d13", "d14"}, claimFailed(t, s, notification.IDRange{First: 11, Last: 20}, 10))
		require.Empty(t, claimFailed(t, s, notification.IDRange{First: 9, Last: 10}, 10))
	}
	require.Equal(t, 10, get[int](t, s, "SELECT count(*) FROM notification WHERE failed_child"))
}

// Batches that end at the same time do not exceed the limit together.
func TestClaimFailedOfManyBatches(t *testing.T) {
	t.Parallel()

	s := failedMails(t, 80)
	var claiming errgroup.Group
	for batch := range int64(8) {
		claiming.Go(func() error {
			part := notification.Part{EventID: "evt-1", Lane: mails, IDs: notification.IDRange{First: batch*10 + 1, Last: batch*10 + 10}}
			_, _, err := s.ClaimFailed(t.Context(), part, 25, 10)
			return err
		})
	}
	require.NoError(t, claiming.Wait())
	require.Equal(t, 25, get[int](t, s, "SELECT count(*) FROM notification WHERE failed_child"))
}
