package receipts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// Vonage's receipts have the hash of an id that is too long for its reference.
func TestReceiptsOfLongIDs(t *testing.T) {
	t.Parallel()

	for _, column := range []string{"delivery_id", "digest_id"} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()

			s := roomtest.New(t, roomtest.SendMail)
			long := strings.Repeat("é", 51)
			sum := sha256.Sum256([]byte(long))
			postgrestest.Exec(t, s, "DELETE FROM delivery_attempt")
			postgrestest.Exec(t, s, "UPDATE notification SET channel = 'SMS', "+column+" = $1", long)
			got := roomtest.Record(t, s, notification.Receipt{
				Provider: "vonage", ID: "V1/failed", DeliveryID: hex.EncodeToString(sum[:]), MessageID: "m", Word: "failed", At: roomtest.Day,
				Status: notification.Failed, Detail: "error 1",
			})
			require.False(t, got[0].Unknown)
			require.Equal(t, "FAILED failed: error 1", postgrestest.Get[string](t, s, "SELECT status || ' ' || last_error FROM notification"))
			require.Equal(t, long, postgrestest.Get[string](t, s, "SELECT delivery_id FROM delivery_receipt"))
		})
	}
}
