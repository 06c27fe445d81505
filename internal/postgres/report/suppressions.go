package report

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Suppression is a row of recipient_suppression.
type Suppression struct {
	Channel     notification.Channel           `json:"channel"`
	Reason      notification.SuppressionReason `json:"reason"`
	Since       time.Time                      `json:"since"`
	AddressHash string                         `json:"address_hash"` // as [ShortHash] has it
	Detail      string                         `json:"detail"`
}

// shownHash is how many bytes of a hash are shown: they tell a million addresses apart.
const shownHash = 6

// ShortHash is the beginning of an address' hash, in hexadecimal.
func ShortHash(hash []byte) string { return hex.EncodeToString(hash[:min(shownHash, len(hash))]) }

// SuppressionFilter selects suppressions. A zero field is no condition.
type SuppressionFilter struct {
	Channel notification.Channel
	Reason  notification.SuppressionReason
	Since   time.Time // suppressed then, at the earliest
	// AddressHashes are those of one address, one for each secret.
	AddressHashes [][]byte
}

// Suppressions reads the suppressions that the filter selects, up to limit of them, the
// latest first.
func (r Reader) Suppressions(ctx context.Context, filter SuppressionFilter, limit int) ([]Suppression, error) {
	const query = `
		SELECT channel, reason, since, address_hash, coalesce(detail, '')
		FROM   recipient_suppression
		WHERE  ($1::text IS NULL OR channel = $1)
		AND    ($2::text IS NULL OR reason = $2)
		AND    ($3::timestamptz IS NULL OR since >= $3)
		AND    ($4::bytea[] IS NULL OR address_hash = ANY ($4))
		ORDER BY since DESC, channel DESC, address_hash DESC, reason DESC -- backwards through an index
		LIMIT  $5`

	return list(ctx, r, "suppressions", scanSuppression, query,
		optional(filter.Channel), optional(filter.Reason), optional(filter.Since), filter.AddressHashes, limit)
}

func scanSuppression(row pgx.CollectableRow) (s Suppression, err error) {
	var hash []byte
	err = row.Scan(&s.Channel, &s.Reason, &s.Since, &hash, &s.Detail)
	s.AddressHash = ShortHash(hash)
	return s, err
}
