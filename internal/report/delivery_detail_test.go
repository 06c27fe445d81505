package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

func TestDeliveryDetail(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET digest_id = 'digest-2', provider_message_id = 'm-1', attempt_count = 2 WHERE id = 1")
	exec(t, r, `
		INSERT INTO delivery_attempt (delivery_id, attempt, ended_at, outcome, provider_status, detail, took)
		VALUES ($1, 1, now() + interval '1 hour', 'BUSY', 503, 'sendgrid is busy: 503', '12 ms')`, mail)
	exec(t, r, "UPDATE notification SET attempt_owner = 'o', attempt_began = now(), attempt_until = now() WHERE id = 1")
	exec(t, r, `
		INSERT INTO delivery_retry (delivery_id, run_id, retried_at, again, status_before, error_before)
		VALUES ($1, 'run-2', '2026-11-21 10:00Z', true, 'SENT', NULL), ($1, 'run-1', '2026-11-21 09:00Z', false, 'FAILED', 'no')`, mail)

	got := roomtest.Must(r.DeliveryDetail(t.Context(), mail))(t)

	require.Equal(t, []any{mail, notification.Pending, 2, "m-1", true, 1},
		[]any{got.DeliveryID, got.Status, got.Attempts, got.ProviderMessageID, got.HasText, got.DigestItems})
	require.Len(t, got.Log, 2)
	ended, running := got.Log[0], got.Log[1]
	require.Equal(t, []any{1, notification.OutcomeBusy, 503, "sendgrid is busy: 503"},
		[]any{ended.Attempt, ended.Outcome, ended.ProviderStatus, ended.Detail})
	require.NotNil(t, ended.EndedAt)
	require.InEpsilon(t, 0.012, *ended.TookSeconds, 0.001)
	require.Equal(t, report.AttemptRow{Attempt: 2, StartedAt: running.StartedAt}, running)
	for i := range got.Retries {
		got.Retries[i].RetriedAt = time.Time{}
	}
	require.Equal(t, []report.RetryRow{
		{RunID: "run-1", StatusBefore: notification.Failed, ErrorBefore: "no"}, {RunID: "run-2", StatusBefore: notification.Sent, Again: true},
	}, got.Retries)

	require.ErrorIs(t, roomtest.ErrOf(r.DeliveryDetail(t.Context(), "evt-1-staff12-EMAIL")), notification.ErrNoDelivery)
}

// Receipts come in the order of the providers' clocks, including receipts of the message's
// digest. Each names its message.
func TestReceiptsOfADelivery(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r,
		"UPDATE notification SET digest_id = 'digest-2', provider_message_id = 'm-2', status = 'FAILED', receipt_failed = true, last_error = "+
			"'bounced' WHERE id = 1")
	exec(t, r,
		"INSERT INTO delivery_retry (delivery_id, run_id, again, status_before, message_id_before) VALUES ($1, 'run-1', false, 'FAILED', 'm-1')",
		mail)
	exec(t, r, `
		INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, message_id, at, status, outcome, detail)
		VALUES ('sendgrid', 'r-4', 'digest-2', 'm-2', '2026-11-21 12:00Z', 'bounce', 'FAILED', 'no such mailbox'),
		       ('sendgrid', 'r-3', $1, NULL, '2026-11-21 11:00Z', 'deferred', NULL, NULL),
		       ('sendgrid', 'r-1', $1, 'm-1', '2026-11-21 09:00Z', 'dropped', 'FAILED', NULL),
		       ('sendgrid', 'r-9', 'evt-1-staff11-SMS', NULL, '2026-11-21 09:00Z', 'delivered', 'DELIVERED', NULL),
		       ('sendgrid', 'r-8', 'digest-1', NULL, '2026-11-21 09:00Z', 'delivered', 'DELIVERED', NULL)`, mail)

	got := roomtest.Must(r.DeliveryDetail(t.Context(), mail))(t)

	require.True(t, got.ReceiptFailed)
	var words []string
	for _, receipt := range got.Receipts {
		words = append(words,
			fmt.Sprint(receipt.At.UTC().Hour(), " ", receipt.Status, " ", receipt.Outcome, " ", receipt.Earlier, " ", receipt.Detail))
		require.Equal(t, "sendgrid", receipt.Provider)
		require.WithinDuration(t, time.Now(), receipt.ReceivedAt, time.Hour)
	}
	require.Equal(t, []string{"9 dropped FAILED true ", "11 deferred  false ", "12 bounce FAILED false no such mailbox"}, words)
}

func TestDeliveryDetailIsBounded(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET title = NULL, last_error = 'no template'")
	exec(t, r, "INSERT INTO delivery_attempt (delivery_id, attempt) SELECT $1, n FROM generate_series(1, 60) n", mail)
	exec(t, r,
		`INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) SELECT $1, 'run-' || n, false, 'FAILED'
			FROM generate_series(1, 60) n`,
		mail)

	exec(t, r,
		"INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status) SELECT 'twilio', n, $1, now() + n * interval '1 minute', "+
			"'r-' || n FROM generate_series(1, 60) n",
		mail)

	got := roomtest.Must(r.DeliveryDetail(t.Context(), mail))(t)

	require.False(t, got.HasText)
	require.Zero(t, got.DigestItems)
	require.Len(t, got.Log, 50)
	require.Equal(t, 11, got.Log[0].Attempt)
	require.Equal(t, 60, got.Log[49].Attempt)
	require.Len(t, got.Retries, 50)
	require.Len(t, got.Receipts, 50)
	require.Equal(t, "r-60", got.Receipts[49].Status)
}
