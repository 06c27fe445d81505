package list

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

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

// ofTarget selects the actions on an event or a delivery.
const ofTarget = `
	target = @target
	OR target = (SELECT n.event_id FROM notification n WHERE n.delivery_id = @target) AND starts_with(command, 'event ')`

var actions = spec[Action]{
	doing:   "read what operators did",
	columns: "id, at, actor, coalesce(db_user, '') AS db_user, command, target, detail",
	from:    "operator_action",
	order:   order{by: "id", newestFirst: true, table: "operator_action", time: "at"},
	key:     func(a Action) string { return fmt.Sprint(a.ID) },
}

// Actions reads actions that the filter selects, newest first.
func (r Reader) Actions(ctx context.Context, filter ActionFilter, from Place) (Page[Action], error) {
	return actions.page(ctx, r, slices.Concat(
		where(ofTarget, filter.Target),
		where("actor = @actor", filter.Actor),
		where("command = @command", filter.Command),
		where("at >= @since", filter.Since),
	), part{since: filter.Since, isIndexed: filter.Target != ""}, from)
}

// Suppression is a row of recipient_suppression.
type Suppression struct {
	Channel     notification.Channel           `json:"channel"`
	Reason      notification.SuppressionReason `json:"reason"`
	Since       time.Time                      `json:"since"`
	AddressHash string                         `json:"address_hash"` // shortened by [ShortHash]
	Detail      string                         `json:"detail"`
}

// ShortHash returns the first six bytes of an address' hash, in hexadecimal: they tell a million
// addresses apart.
func ShortHash(hash []byte) string { return hex.EncodeToString(hash[:6]) }

// SuppressionFilter selects suppressions. A zero field is no condition.
type SuppressionFilter struct {
	Channel notification.Channel
	Reason  notification.SuppressionReason
	Since   time.Time // earliest time of suppression
	// AddressHashes are the hashes of one address, one for each secret.
	AddressHashes [][]byte
}

var suppressions = spec[Suppression]{
	doing:   "read suppressions",
	columns: "channel, reason, since, encode(substring(address_hash FOR 6), 'hex') AS address_hash, coalesce(detail, '') AS detail",
	from:    "recipient_suppression",
	order:   order{by: "since, channel, address_hash, reason", newestFirst: true},
}

// Suppressions reads the latest suppressions that the filter selects, up to limit, newest
// first.
func (r Reader) Suppressions(ctx context.Context, filter SuppressionFilter, limit int) ([]Suppression, error) {
	return suppressions.read(ctx, r, slices.Concat(
		where("channel = @channel", filter.Channel),
		where("reason = @reason", filter.Reason),
		where("since >= @since", filter.Since),
		where("address_hash = ANY (@hashes)", filter.AddressHashes),
	), limit)
}
