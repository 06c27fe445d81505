package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/report"
)

// Late and failed deliveries are grouped by the typed end of their last attempt.
func TestLateAndFailedDeliveries(t *testing.T) {
	t.Parallel()

	store := postgrestest.New(t)
	postgrestest.Add(t, store.Pool,
		postgrestest.Delivery{ID: "late-1", EventID: "1", UserID: "1"}, postgrestest.Delivery{ID: "late-2", EventID: "2", UserID: "1"},
		postgrestest.Delivery{ID: "tried", EventID: "3", UserID: "2"}, postgrestest.Delivery{ID: "moved", EventID: "4", UserID: "3"},
		postgrestest.Delivery{ID: "quiet", EventID: "5", UserID: "4"}, postgrestest.Delivery{ID: "put off", EventID: "8", UserID: "6"},
		postgrestest.Delivery{ID: "failed", EventID: "6", UserID: "5", Status: notification.Failed, LastError: "x"},
		postgrestest.Delivery{ID: "old", EventID: "7", UserID: "5", Status: notification.Failed, LastError: "x"})
	for _, sql := range []string{
		`UPDATE notification SET created_at = now() - interval '1 hour' WHERE delivery_id <> 'old'`,
		`UPDATE notification SET created_at = now() - interval '3 days' WHERE delivery_id = 'old'`,
		`UPDATE notification SET operator_time = 'LATER' WHERE delivery_id IN ('moved', 'put off')`,
		`UPDATE notification SET next_attempt_at = now() + interval '1 hour' WHERE delivery_id IN ('quiet', 'tried', 'moved')`,
		`UPDATE notification SET next_attempt_at = now() - interval '1 hour' WHERE delivery_id = 'put off'`,
		// reminders that were planned earlier
		`INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, send_after)
		 OVERRIDING SYSTEM VALUE
		 SELECT n - 2000, 'r-' || n, 'T', 'CUSTOMER', '1', 'EMAIL', 'r-' || n, 't', 'b', now() + interval '1 day'
		 FROM   generate_series(1, 1100) n`,
		`UPDATE notification SET attempt_count = 2 WHERE delivery_id = 'tried'`,
		`INSERT INTO delivery_attempt (delivery_id, attempt, ended_at, outcome, provider_status)
		 VALUES ('tried', 1, now(), 'BUSY', 429), ('tried', 2, now(), 'UNAVAILABLE', 503), ('failed', 1, now(), 'ACCOUNT', 401)`,
	} {
		postgrestest.Exec(t, store, sql)
	}
	r := report.Reader{Pool: store.Pool}
	late, err := r.LateDeliveries(t.Context())
	require.NoError(t, err)
	require.Len(t, late, 2)
	require.Equal(t, []any{3, 2, notification.AttemptOutcome("")}, []any{late[0].Count, late[0].People, late[0].Outcome})
	require.Equal(t, []any{1, notification.OutcomeUnavailable, 503}, []any{late[1].Count, late[1].Outcome, late[1].ProviderStatus})
	failed, err := r.FailedDeliveries(t.Context(), 24*time.Hour)
	require.NoError(t, err)
	require.Len(t, failed, 1)
	require.Equal(t, []any{1, notification.OutcomeAccount, 401}, []any{failed[0].Count, failed[0].Outcome, failed[0].ProviderStatus})
}
