package operate

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// What a batch sends has no workflow to be told anything, and a retry would send it twice:
// each verb names the batch, and what is possible.
func TestOfWhatABatchSends(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	var number int64
	require.NoError(t, d.Store.Pool.QueryRow(t.Context(), "SELECT id FROM notification").Scan(&number))
	for name, verb := range map[string]Verb{"send-now": SendNow(), "reschedule": Reschedule(time.Now()), "retry": RetryDelivery(false, 0), "retry again": RetryDelivery(true, 0)} {
		d.reset(notification.Pending)
		d.batch(notification.IDRange{First: number, Last: number + 499})

		got := d.run(verb, "d1")

		require.False(t, got.Done, name)
		require.Equal(t, "is being sent in a batch: by the workflow evt-1-batch-EMAIL-2, as soon as it can be", got.String(), name)
		require.Contains(t, got.Next, "`starter delivery cancel d1`", name)
	}

	d.reset(notification.Pending)
	d.batch(notification.IDRange{First: number + 1, Last: number + 500})
	require.Contains(t, d.run(SendNow(), "d1").String(), "no running workflow", "the batch has others")
}

// A delivery in a batch is cancelled by its row; the answer tells where its provider may
// have it already.
func TestCancelOfWhatABatchSends(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for name, tt := range map[string]struct {
		sql  string
		says bool
	}{
		"not begun":   {sql: "SELECT 1"},
		"under way":   {sql: "UPDATE notification SET attempt_count = 1, attempt_owner = 'a batch', attempt_began = now(), attempt_until = now() + interval '1 minute'", says: true},
		"failed once": {sql: "UPDATE notification SET attempt_count = 1, attempt_owner = NULL, attempt_began = NULL, attempt_until = NULL"},
	} {
		d.reset(notification.Pending)
		d.exec(tt.sql)
		d.workflow("d1", unknown)

		got := d.run(CancelDelivery(), "d1")

		require.Equal(t, "cancelled", got.Result, name)
		require.Equal(t, tt.says, strings.Contains(got.Detail, "an attempt is under way"), "%s: %s", name, got.Detail)
	}
}
