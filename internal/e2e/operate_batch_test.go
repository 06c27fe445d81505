package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOperateBatch asks about a delivery that a slow batch has not come to yet, and keeps it
// back: operators are told which batch has it and what is possible, and it is not sent.
func TestOperateBatch(t *testing.T) {
	t.Parallel()

	const recipients = 12
	o := &operation{system: newSystem(t, "BULK_THRESHOLD=5", "EMAIL_RATE_LIMIT=0.2")} // the last one would go after a minute
	o.prepareNews(recipients, "EMAIL")
	o.startWorker()
	event := o.emitNews()
	o.awaitCount(1, `SELECT count(*) FROM delivery_attempt WHERE outcome = 'SENT'`)
	batch := event + "-batch-EMAIL-1"
	last := o.text(`SELECT delivery_id FROM notification WHERE attempt_count = 0 ORDER BY id DESC LIMIT 1`)

	o.says(batch, "delivery", "show", last)
	o.says("it is sent in the batch "+batch, "delivery", "why", last)
	o.says(batch+": ", "event", "show", event)
	o.fails(1, "is being sent in a batch", "delivery", "send-now", last)
	o.fails(1, "is being sent in a batch", "delivery", "reschedule", last, "--in", "2h")
	o.fails(1, "is being sent in a batch", "delivery", "retry", last)
	o.says("cancelled", "delivery", "cancel", last)
	o.says("would be retried", "delivery", "retry", last, "--dry-run")

	o.says("of its deliveries", "event", "cancel", event)
	o.awaitCount(0, `SELECT count(*) FROM notification WHERE status = 'PENDING'`)
	require.Zero(t, o.accepted()[last])
	o.requireDelivery(last, "CANCELLED", "cancelled")
}

// text reads one value.
func (o *operation) text(sql string) (value string) {
	o.t.Helper()
	require.NoError(o.t, o.store.Pool.QueryRow(o.t.Context(), sql).Scan(&value))
	return value
}
