package postgres_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// Among 200,000 deliveries, recording receipts reads those that they name, alone and in
// digests, and no other.
func TestReceiptsReadByIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, attempt_count, sent_at, provider_message_id, digest_id)
		SELECT 'e' || i, 'T', 'CUSTOMER', i::text, 'EMAIL', 'd' || i, 't', 'b', 'SENT', 1, now(), 'm' || i, CASE WHEN i % 10 = 0 THEN 'digest-' || i / 100 END
		FROM   generate_series(1, 200000) AS i`)
	exec(t, s, `
		INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, message_id, at, status)
		SELECT 'sendgrid', 'r' || i, 'd' || i, 'm' || i, now(), 'processed'
		FROM   generate_series(1, 200000) AS i`)
	exec(t, s, "VACUUM ANALYZE notification, delivery_receipt")
	listening, asked := heard(t, s)
	var receipts []notification.Receipt
	for n := range 1000 {
		r := bounce(fmt.Sprint("b-", n))
		r.DeliveryID, r.MessageID = fmt.Sprint("d", n*7+1), fmt.Sprint("m", n*7+1)
		if n%100 == 0 {
			r.DeliveryID, r.MessageID = fmt.Sprint("digest-", n+1), ""
		}
		receipts = append(receipts, r)
	}

	recorded, err := listening.RecordReceipts(t.Context(), receipts)

	require.NoError(t, err)
	require.Len(t, recorded, 1000)
	read := map[string]int{}
	for _, statement := range asked.heard {
		if len(statement.Args) == 0 {
			continue // begin, commit
		}
		var text string
		require.NoError(t, s.Pool.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+statement.SQL, statement.Args...).Scan(&text))
		var plans []struct{ Plan planNode }
		require.NoError(t, json.Unmarshal([]byte(text), &plans))
		for _, node := range plans[0].Plan.all() {
			if node.Relation == "notification" || node.Relation == "delivery_receipt" {
				require.False(t, strings.Contains(node.Type, "Seq Scan"), text)
				read[node.Relation]++
			}
		}
	}
	require.Greater(t, read["notification"], 2, "locked, read and moved: %v", read)
	require.Greater(t, read["delivery_receipt"], 1, "stored, and asked for the reason: %v", read)
}
