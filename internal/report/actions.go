package report

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// Action is a row of operator_action: who ordered what.
type Action struct {
	ID      notification.JSONInt `json:"id"`
	At      time.Time            `json:"at"`
	Actor   string               `json:"actor"`   // the name that they gave
	DBUser  string               `json:"db_user"` // the role that was logged in to the database; empty: not recorded
	Command string               `json:"command"`
	Target  string               `json:"target"`
	Detail  string               `json:"detail"`
}

// ActionFilter selects actions. A zero field is no condition. A target that is a delivery
// also selects the commands of `starter event` for its event.
type ActionFilter struct {
	Target, Actor, Command string
	Since                  time.Time // earliest time of the order
}

// Actions reads the page that follows the key `after`, with up to limit actions that the filter selects,
// newest first.
func (r Reader) Actions(ctx context.Context, filter ActionFilter, after string, limit int) (Page[Action], error) {
	const query = `
		SELECT id, at, actor, coalesce(db_user, '') AS db_user, command, target, detail
		FROM   operator_action
		WHERE  ($1::text IS NULL OR target = $1
		    OR  target = (SELECT n.event_id FROM notification n WHERE n.delivery_id = $1) AND starts_with(command, 'event '))
		AND    ($2::text IS NULL OR actor = $2)
		AND    ($3::text IS NULL OR command = $3)
		AND    ($4::timestamptz IS NULL OR at >= $4)
		AND    id BETWEEN $5 AND $6
		ORDER BY id DESC
		LIMIT  $7`

	ids, through, err := r.idsToSearch(ctx, idsOfTime{table: "operator_action", column: "at", since: filter.Since}, after, filter.Target != "")
	if err != nil {
		return Page[Action]{}, err
	}
	rows, err := db.Collect(ctx, r.Pool, "read what operators did", pgx.RowToStructByName[Action], query, plannedForItsFilter,
		db.Optional(filter.Target), db.Optional(filter.Actor), db.Optional(filter.Command), db.Optional(filter.Since), ids.lowest, ids.highest, limit+1)
	return searchedPage(rows, limit, func(a Action) string { return strconv.FormatInt(int64(a.ID), 10) }, through), err
}

// Suppression is a row of recipient_suppression.
type Suppression struct {
	Channel     notification.Channel           `json:"channel"`
	Reason      notification.SuppressionReason `json:"reason"`
	Since       time.Time                      `json:"since"`
	AddressHash string                         `json:"address_hash"` // shortened by [ShortHash]
	Detail      string                         `json:"detail"`
}

// shownHash is the number of bytes of a hash that are shown: they tell a million addresses
// apart.
const shownHash = 6

// ShortHash returns the beginning of an address' hash, in hexadecimal.
func ShortHash(hash []byte) string { return hex.EncodeToString(hash[:min(shownHash, len(hash))]) }

// SuppressionFilter selects suppressions. A zero field is no condition.
type SuppressionFilter struct {
	Channel notification.Channel
	Reason  notification.SuppressionReason
	Since   time.Time // earliest time of suppression
	// AddressHashes are the hashes of one address, one for each secret.
	AddressHashes [][]byte
}

// Suppressions reads the latest suppressions that the filter selects, up to limit, newest
// first.
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

	return db.Collect(ctx, r.Pool, "read suppressions", scanSuppression, query,
		db.Optional(filter.Channel), db.Optional(filter.Reason), db.Optional(filter.Since), filter.AddressHashes, limit)
}

func scanSuppression(row pgx.CollectableRow) (s Suppression, err error) {
	var hash []byte
	err = row.Scan(&s.Channel, &s.Reason, &s.Since, &hash, &s.Detail)
	s.AddressHash = ShortHash(hash)
	return s, err
}
