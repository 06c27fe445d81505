package attempt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

// A batch contains the deliveries that are due at once and were never attempted, with a
// higher priority first.
func TestBatchDeliveries(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t) // 4, 6 and 8 are PENDING and to be sent at once
	postgrestest.Exec(t, s, "UPDATE notification SET priority = CASE user_id WHEN '4' THEN 'LOW' WHEN '8' THEN 'HIGH' ELSE 'NORMAL' END")
	ids := notification.IDRange{First: 1, Last: 1 << 40}
	read := func(of notification.IDRange) []string {
		return roomtest.Must(attempt.On(s).BatchDeliveries(t.Context(), "evt-1", notification.Email, of))(t)
	}
	require.Equal(t, []string{roomtest.StaffMail(8), roomtest.StaffMail(6), roomtest.StaffMail(4)}, read(ids))

	last := postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", roomtest.StaffMail(6))
	require.Equal(t, []string{roomtest.StaffMail(6), roomtest.StaffMail(4)}, read(notification.IDRange{First: 1, Last: last}))

	roomtest.Begin(t, s, roomtest.StaffMail(6), 0)
	require.Equal(t, []string{roomtest.StaffMail(8), roomtest.StaffMail(4)}, read(ids), "an attempted delivery leaves the batch")
}

// A batch reads only its own range.
func TestHasRemainingRows(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t) // 4, 6 and 8 are PENDING and to be sent at once; 2 has FAILED
	id := func(n int) int64 {
		return postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", roomtest.StaffMail(n))
	}
	for _, tt := range []struct {
		first, last int
		want        bool
	}{{0, 9, true}, {0, 3, false}, {2, 4, true}, {4, 4, true}, {9, 9, false}, {5, 5, false}} {
		require.Equal(t, tt.want, roomtest.Must(attempt.On(s).HasRemainingRows(t.Context(), "evt-1", notification.Email,
			notification.IDRange{First: id(tt.first), Last: id(tt.last)}))(t), fmt.Sprint(tt.first, tt.last))
	}
}

// The cost of asking for a batch's rest does not grow with the deliveries behind it.
func TestHasRemainingRowsReadsNoFurther(t *testing.T) {
	t.Parallel()

	s := failedMails(t, 10_000)
	postgrestest.Exec(t, s, "VACUUM ANALYZE notification")
	listening, asked := roomtest.Heard(t, s)
	require.False(t, roomtest.Must(attempt.On(listening).HasRemainingRows(t.Context(), "evt-1", notification.Email,
		notification.IDRange{First: 1, Last: 100}))(t))
	require.Len(t, asked.All, 1)
	require.Less(t, roomtest.BlocksOf(t, s, asked.All[0]), 20)
}

// FAILED deliveries become PENDING again, unless a receipt made them FAILED.
func TestReopenFailed(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'FAILED', last_error = 'refused' WHERE delivery_id = $1", roomtest.StaffMail(4))
	postgrestest.Exec(t, s,
		"UPDATE notification SET status = 'FAILED', last_error = 'bounced', sent_at = now(), receipt_failed = true WHERE delivery_id = $1",
		roomtest.StaffMail(6))
	part := notification.Part{EventID: "evt-1", Lane: roomtest.MailLane}
	part.IDs.Last = postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", roomtest.StaffMail(2))

	for ; part.IDs != (notification.IDRange{}); part.IDs = (notification.IDRange{}) {
		require.NoError(t, attempt.On(s).ReopenFailed(t.Context(), part))
		require.Equal(t, []string{roomtest.StaffMail(4), roomtest.StaffMail(6)},
			postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE status = 'FAILED' ORDER BY id"))
	}
	require.NoError(t, attempt.On(s).ReopenFailed(t.Context(), part), "the whole lane")
	require.Equal(t, []string{roomtest.StaffMail(6)}, postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE status = 'FAILED'"))
}

// failedMails returns a store with n deliveries of evt-1, which all failed for good.
func failedMails(t *testing.T, n int) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	roomtest.Plant(t, s, n, postgrestest.Delivery{Status: notification.Failed, LastError: "refused: 400"},
		postgrestest.Expressions{"event_id": "'evt-1'"})
	return s
}

// claimFailed claims all pages of a range.
func claimFailed(t *testing.T, s *db.DB, ids notification.IDRange, most int) (all []string) {
	part := notification.Part{EventID: "evt-1", Lane: roomtest.MailLane, IDs: ids}
	for {
		found, next, err := attempt.On(s).ClaimFailed(t.Context(), part, most, 4)
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

// The first failures of an event get a failed workflow, whatever their batch. A repeat finds the
// same failures.
func TestClaimFailed(t *testing.T) {
	t.Parallel()

	s := failedMails(t, 20)
	postgrestest.Exec(t, s, "UPDATE notification SET receipt_failed = true, sent_at = now() WHERE id = 2")
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'SENT', sent_at = now() WHERE id = 3")
	for range 2 {
		require.Equal(t, []string{"d1", "d4", "d5", "d6", "d7", "d8"}, claimFailed(t, s, notification.IDRange{First: 1, Last: 8}, 10))
		require.Equal(t, []string{"d11", "d12", "d13", "d14"}, claimFailed(t, s, notification.IDRange{First: 11, Last: 20}, 10))
		require.Empty(t, claimFailed(t, s, notification.IDRange{First: 9, Last: 10}, 10))
	}
	require.Equal(t, 10, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE failed_child"))
}

// Batches that end at the same time share the limit.
func TestClaimFailedOfManyBatches(t *testing.T) {
	t.Parallel()

	s := failedMails(t, 80)
	roomtest.SideBySide(t, 8, func(batch int) error {
		part := notification.Part{EventID: "evt-1", Lane: roomtest.MailLane,
			IDs: notification.IDRange{First: int64(batch*10 + 1), Last: int64(batch*10 + 10)}}
		return roomtest.ErrOfTwo(attempt.On(s).ClaimFailed(t.Context(), part, 25, 10))
	})
	require.Equal(t, 25, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE failed_child"))
}

// Planning and handing out an event with 30,000 deliveries reads only a few rows in each
// statement, whatever the statistics of the table say.
func TestBroadcastIsReadByPages(t *testing.T) {
	t.Parallel()

	const few = 300 // blocks; the table alone has more than a thousand
	group := []string{"d25000", "d25001", "d25002", "d25003", "d25004"}
	part := notification.Part{EventID: roomtest.Event1.ID, Lane: roomtest.MailLane, IDs: notification.IDRange{First: 25_000, Last: 25_010}}
	plan := func(s *db.DB) error {
		return planner.On(s).SavePlan(t.Context(), roomtest.Event1,
			[]notification.DecidedRecipient{roomtest.Decided("new", roomtest.Planned(notification.Email))})
	}
	tests := []struct {
		name string
		ask  func(s *db.DB) error
	}{
		{name: "plan", ask: plan},
		{name: "plan again", ask: plan},
		{name: "undelivered", ask: func(s *db.DB) error {
			return roomtest.ErrOf(attempt.On(s).Undelivered(t.Context(), roomtest.Event1.ID, 10))
		}},
		{name: "undelivered of another event", ask: func(s *db.DB) error {
			return roomtest.ErrOf(attempt.On(s).Undelivered(t.Context(), "evt-9", 10))
		}},
		{name: "lanes", ask: func(s *db.DB) error { return roomtest.ErrOf(attempt.On(s).Lanes(t.Context(), roomtest.Event1.ID)) }},
		{name: "next deliveries", ask: func(s *db.DB) error {
			return roomtest.ErrOf(attempt.On(s).NextDeliveries(t.Context(), roomtest.Event1.ID, roomtest.MailLane,
				notification.IDRange{First: 25_001}, "", 10))
		}},
		{name: "deliveries of a page", ask: func(s *db.DB) error {
			return roomtest.ErrOfTwo(attempt.On(s).LaneDeliveries(t.Context(), part, notification.Pending, 10))
		}},
		{name: "rest of a batch", ask: func(s *db.DB) error {
			return roomtest.ErrOf(attempt.On(s).HasRemainingRows(t.Context(), roomtest.Event1.ID, notification.Email, part.IDs))
		}},
		{name: "failures of a batch", ask: func(s *db.DB) error {
			return roomtest.ErrOfTwo(attempt.On(s).ClaimFailed(t.Context(), part, 1000, 10))
		}},
		{name: "reopen failures", ask: func(s *db.DB) error { return attempt.On(s).ReopenFailed(t.Context(), part) }},
		{name: "cancel a part", ask: func(s *db.DB) error {
			return roomtest.ErrOfTwo(event.On(s).CancelPart(t.Context(), notification.Part{EventID: roomtest.Event1.ID, Lane: roomtest.MailLane},
				notification.CancelledInTemporal, 5))
		}},
		{name: "deliveries of a batch", ask: func(s *db.DB) error {
			return roomtest.ErrOf(attempt.On(s).BatchDeliveries(t.Context(), roomtest.Event1.ID, notification.Email,
				notification.IDRange{First: 25_000, Last: 25_010}))
		}},
		{name: "begin and end a group", ask: func(s *db.DB) error {
			roomtest.BeginBatch(t, s, group)
			roomtest.EndGroup(t, s, roomtest.SentAt(1, group...))
			return nil
		}},
	}
	broadcast := func(t *testing.T, s *db.DB, eventID, prefix string, status notification.Status) {
		postgrestest.AddMany(t, s.Pool, 30_000, postgrestest.Delivery{
			EventID: eventID, UserType: notification.RestaurantUser, Body: strings.Repeat("body", 50),
			Status: status, CreatedAt: time.Now().Add(-time.Hour),
		}, postgrestest.Expressions{"user_id": "'u' || i", "delivery_id": "'" + prefix + "' || i"})
	}
	for _, statistics := range []string{"of the broadcast", "of an empty table", "of a sent broadcast"} {
		t.Run("statistics "+statistics, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			postgrestest.Exec(t, s, "ALTER TABLE notification SET (autovacuum_enabled = false)") // the statistics stay as they are
			if statistics == "of a sent broadcast" {
				broadcast(t, s, "evt-8", "before", notification.Sent)
			}
			postgrestest.Exec(t, s, "VACUUM ANALYZE notification")
			broadcast(t, s, roomtest.Event1.ID, "d", notification.Pending)
			if statistics == "of the broadcast" {
				postgrestest.Exec(t, s, "VACUUM ANALYZE notification")
			}
			postgrestest.AddMany(t, s.Pool, 30_000, postgrestest.Recipient{UserType: notification.RestaurantUser},
				postgrestest.Expressions{"user_id": "'u' || i", "email": "'u' || i || '@example.com'"})
			listening, asked := roomtest.Heard(t, s)
			for _, tt := range tests {
				asked.All = nil
				require.NoError(t, tt.ask(listening), tt.name)
				require.NotEmpty(t, asked.All, tt.name)
				for _, statement := range asked.All {
					if statement.SQL == "begin" || statement.SQL == "commit" {
						continue
					}
					require.Less(t, roomtest.BlocksOf(t, s, statement), few, "%s: %s", tt.name, statement.SQL)
				}
			}
		})
	}
}
