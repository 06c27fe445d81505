package person

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/cancel"
	"herald/internal/db"
	"herald/internal/notification"
)

// mergedTable is a table whose rows about a person can move to another person.
type mergedTable struct {
	name  string
	key   []string // the rest of its key; nil: the key does not name the person
	newer bool     // if both people have a key, the row with the later changed_at stays; false: the target's row
	keeps bool     // if the target has the key, the source's row stays: it records what the source got
}

// mergedTables are in the order of moving. A retry of an event finds the decisions before it plans.
var mergedTables = []mergedTable{
	{name: "user_notification_preferences", key: []string{"channel_type"}, newer: true},
	{name: "user_category_preferences", key: []string{"category", "channel_type"}, newer: true},
	{name: "user_settings", key: []string{}},
	{name: "entity_follow", key: []string{"entity_type", "entity_id"}},
	{name: "entity_mute", key: []string{"entity_type", "entity_id"}},
	{name: "recipient_device", key: []string{"token"}},
	{name: "throttle", key: []string{"event_type", "channel_type", "throttle_key"}},
	{name: "counted_message"},
	{name: "notification_decision", key: []string{"event_id"}, keeps: true},
	{name: DeliveryTable, key: []string{"event_id", "channel"}, keeps: true},
}

// taken is a condition for rows n of the source ($1, $2) whose key the target ($3, $4) has.
func (m mergedTable) taken() string {
	if m.key == nil {
		return "false"
	}
	return "EXISTS (SELECT FROM " + m.name + " t WHERE t.user_type = $3 AND t.user_id = $4" + m.sameKey() + ")"
}

func (m mergedTable) sameKey() (condition string) {
	for _, column := range m.key {
		condition += " AND t." + column + " = n." + column
	}
	return condition
}

const (
	// neitherErased prevents a merge if the source or the target was erased after the merge was
	// planned.
	neitherErased = "NOT EXISTS (SELECT FROM erased_recipient e WHERE (e.user_type, e.user_id) IN (($1, $2), ($3, $4)))"
	ofSource      = "n.user_type = $1 AND n.user_id = $2 AND " + neitherErased
	// movedEntity also moves an entity that is the person.
	movedEntity = `,
		       entity_type = CASE WHEN (n.entity_type, n.entity_id) = ($1, $2) THEN $3 ELSE n.entity_type END,
		       entity_id   = CASE WHEN (n.entity_type, n.entity_id) = ($1, $2) THEN $4 ELSE n.entity_id END`
)

// MergedTable is the table of people who were merged into others.
const MergedTable = "merged_recipient"

// MergedInto returns the target of the merge of a recipient; nil: they were not merged.
func (s Store) MergedInto(ctx context.Context, who notification.RecipientKey) (*notification.RecipientKey, error) {
	const query = "SELECT to_user_type, to_user_id FROM merged_recipient WHERE user_type = $1 AND user_id = $2"

	to, err := db.One(ctx, s.Pool, "read whether a recipient was merged", pgx.RowToAddrOfStructByPos[notification.RecipientKey], query,
		who.UserType, who.UserID)
	return to, db.IgnoreNoRows(err)
}

// SelvesOf returns the keys of a person, and of the people who were merged into them.
func (s Store) SelvesOf(ctx context.Context, who notification.RecipientKey) (Selves, error) {
	const query = "SELECT user_type, user_id FROM merged_recipient WHERE to_user_type = $1 AND to_user_id = $2 ORDER BY 1, 2"

	former, err := db.Collect(ctx, s.Pool, "read who was merged into a recipient", pgx.RowToStructByPos[notification.RecipientKey], query,
		who.UserType, who.UserID)
	return append(Selves{who}, former...), err
}

// LinkMerged records that from is to now, as are all who were merged into from. A target that was
// merged into from is a person again. Then it waits for running transactions that write choices or
// devices, because they may not see the record.
func (s Store) LinkMerged(ctx context.Context, from, to notification.RecipientKey) (changed int, err error) {
	const (
		lock   = "LOCK TABLE merged_recipient IN SHARE ROW EXCLUSIVE MODE"
		revive = "DELETE FROM merged_recipient WHERE user_type = $3 AND user_id = $4 AND to_user_type = $1 AND to_user_id = $2 AND " +
			neitherErased
		relink = "UPDATE merged_recipient SET to_user_type = $3, to_user_id = $4 WHERE to_user_type = $1 AND to_user_id = $2 AND " + neitherErased
		link   = `
			INSERT INTO merged_recipient AS m (user_type, user_id, to_user_type, to_user_id)
			SELECT $1, $2, $3, $4
			WHERE  ` + neitherErased + `
			ON CONFLICT (user_type, user_id) DO UPDATE
			SET    to_user_type = excluded.to_user_type,
			       to_user_id   = excluded.to_user_id
			WHERE  (m.to_user_type, m.to_user_id) <> (excluded.to_user_type, excluded.to_user_id)`
	)
	batch := &pgx.Batch{}
	batch.Queue(lock)
	for _, statement := range []string{revive, relink, link} {
		batch.Queue(statement, from.UserType, from.UserID, to.UserType, to.UserID).Exec(func(tag pgconn.CommandTag) error {
			changed += int(tag.RowsAffected())
			return nil
		})
	}
	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
	if err != nil {
		return 0, db.Wrap(err, "record a merge")
	}
	return changed, s.awaitWriters(ctx, append([]string{"recipient_device"}, heraldsTables...))
}

// CountMerge counts the rows that [Store.MergeTable] would move or remove, up to limit in each table.
// A recipient_device that is a view has no rows to move.
func (s Store) CountMerge(ctx context.Context, from, to notification.RecipientKey, limit int) ([]PersonalRows, error) {
	var tables []string
	for _, m := range mergedTables {
		tables = append(tables, m.name)
	}
	return s.countRows(ctx, tables, func(one PersonalRows) string {
		switch m := merged(one.Table); {
		case one.View:
			return ofSource + " AND false"
		case m.keeps:
			return ofSource + " AND NOT " + m.taken()
		}
		return ofSource
	}, from.UserType, from.UserID, to.UserType, to.UserID, limit)
}

// merged returns the row of mergedTables with a name.
func merged(name string) mergedTable {
	return mergedTables[slices.IndexFunc(mergedTables, func(m mergedTable) bool { return m.name == name })]
}

// MergeTable moves the rows of one table: all of them in one transaction, or the next page of a table
// that keeps rows. It returns the number of moved rows; 0: nothing is left.
func (s Store) MergeTable(ctx context.Context, from, to notification.RecipientKey, table string) (rows int, err error) {
	m := merged(table)
	statements := m.moveAll()
	if m.keeps {
		statements = []string{m.movePage()}
	}
	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		for _, statement := range statements {
			done, err := tx.Exec(ctx, statement, from.UserType, from.UserID, to.UserType, to.UserID)
			if err != nil {
				return err
			}
			rows = int(done.RowsAffected())
		}
		return nil
	})
	return rows, db.Wrap(err, "move rows of "+table)
}

// moveAll returns the statements that delete one of two rows with the same key, and move the rest.
func (m mergedTable) moveAll() (statements []string) {
	if m.newer {
		statements = append(statements, "DELETE FROM "+m.name+" n WHERE n.user_type = $3 AND n.user_id = $4 AND "+neitherErased+" AND EXISTS ("+
			"SELECT FROM "+m.name+" t WHERE t.user_type = $1 AND t.user_id = $2"+m.sameKey()+
			" AND coalesce(t.changed_at, '-infinity') > coalesce(n.changed_at, '-infinity'))")
	}
	if m.key != nil {
		statements = append(statements, "DELETE FROM "+m.name+" n WHERE "+ofSource+" AND "+m.taken())
	}
	return append(statements, "UPDATE "+m.name+" n SET user_type = $3, user_id = $4 WHERE "+ofSource)
}

// movePage returns a statement that moves some rows whose key the target does not have.
func (m mergedTable) movePage() string {
	entity, order := "", ""
	if m.name == DeliveryTable {
		entity, order = movedEntity, " ORDER BY n.id"
	}
	return "UPDATE " + m.name + " n SET user_type = $3, user_id = $4" + entity + " WHERE n.ctid = ANY (ARRAY (" +
		"SELECT n.ctid FROM " + m.name + " n WHERE " + ofSource + " AND NOT " + m.taken() + order + " LIMIT 500 FOR UPDATE))"
}

// twins are waiting deliveries n to the source of a merge that the target gets already.
func twins() string {
	return ofSource + ` AND ` + cancel.MayCancel + ` AND ` + merged(DeliveryTable).taken()
}

// CountTwins counts deliveries that [Store.CancelTwins] would cancel, up to limit.
func (s Store) CountTwins(ctx context.Context, from, to notification.RecipientKey, limit int) (int, error) {
	query := "SELECT count(*) FROM (SELECT FROM notification n WHERE " + twins() + " LIMIT $5) AS found"

	return db.One(ctx, s.Pool, "count deliveries that the target gets", pgx.RowTo[int], query, from.UserType, from.UserID, to.UserType,
		to.UserID, limit)
}

// CancelTwins cancels up to 500 waiting deliveries to the source of a merge that the target gets
// already. A worker ends their workflows.
func (s Store) CancelTwins(ctx context.Context, from, to notification.RecipientKey) (cancelled int, err error) {
	cancelled, _, err = cancel.On(s.DB).Cancel(ctx, cancel.Cancellation{
		Which: twins(), Args: []any{from.UserType, from.UserID, to.UserType, to.UserID}, Reason: notification.NoLongerRecipient, Limit: 500,
		Tell: true,
	})
	return cancelled, err
}
