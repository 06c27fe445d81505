package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// PageCost is how many blocks the database touches for one page of recipients.
func PageCost(ctx context.Context, t *testing.T, s *Store, target notification.Target, after notification.Cursor) int {
	t.Helper()
	wanted := targetRows([]notification.Target{target})
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, s.Pool.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+recipientsQuery, recipientsArgs(wanted, after, 100)...).Scan(&plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// DirectoryRelations are what the statements read of each table of the directory.
var DirectoryRelations = map[string]string{"recipient": directoryRecipient, "recipient_device": directoryDevice, "entity_member": directoryMember}
