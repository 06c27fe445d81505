package preference

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// Follow is an entity that a person follows.
type Follow struct {
	EntityType string                   `json:"entity_type"`
	EntityID   string                   `json:"entity_id"`
	EntityName string                   `json:"entity_name,omitempty"` // empty: no name is known
	Level      notification.FollowLevel `json:"level"`
}

// Mute is an entity that a person has muted.
type Mute struct {
	EntityType string `json:"entity_type"`
	EntityID   string `json:"entity_id"`
	EntityName string `json:"entity_name,omitempty"` // empty: no name is known
}

const (
	followTable = "entity_follow"
	muteTable   = "entity_mute"
)

// Follows reads what a person follows, up to [notification.MaxFollows] entities.
func (s Store) Follows(ctx context.Context, who notification.RecipientKey) ([]Follow, error) {
	return entities[Follow](ctx, s, who, followTable, ", n.level")
}

// Mutes reads what a person has muted, up to [notification.MaxFollows] entities.
func (s Store) Mutes(ctx context.Context, who notification.RecipientKey) ([]Mute, error) {
	return entities[Mute](ctx, s, who, muteTable, "")
}

// entities reads rows with the name of their entity. The name is empty unless the person has a notification
// of the entity: people may mute what they do not know. IN reads the notifications once for all rows.
func entities[T any](ctx context.Context, s Store, who notification.RecipientKey, table, columns string) ([]T, error) {
	who, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return nil, db.Wrap(err, "read "+table)
	}
	return db.Collect(ctx, s.Pool, "read "+table, pgx.RowToStructByName[T], `
		SELECT n.entity_type, n.entity_id,
		       CASE WHEN (n.entity_type, n.entity_id) IN (
		                SELECT d.entity_type, d.entity_id
		                FROM   notification d
		                WHERE  d.user_type = $1
		                AND    d.user_id = $2) THEN `+db.EntityName+` ELSE '' END AS entity_name`+columns+`
		FROM   `+table+` n
		WHERE  n.user_type = $1
		AND    n.user_id = $2
		ORDER BY n.entity_type, n.entity_id
		LIMIT  $3`, who.UserType, who.UserID, notification.MaxFollows)
}

// followable selects the rows by which a follower of the user type $1 is told.
const followable = `
		FROM   event_type_recipients
		WHERE  'FOLLOWER' = ANY (roles)
		AND    coalesce(user_type, $1) = $1`

// FollowableTypes reads the types of entities that a person can follow: events name their followers with
// the role FOLLOWER.
func (s Store) FollowableTypes(ctx context.Context, who notification.RecipientKey) ([]string, error) {
	const query = `
		SELECT DISTINCT entity_type` + followable + `
		AND    entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		ORDER BY entity_type
		LIMIT  $2`
	const what = "read which entities have followers"

	who, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return nil, db.Wrap(err, what)
	}
	return db.Collect(ctx, s.Pool, what, pgx.RowTo[string], query, who.UserType, notification.MaxFollows)
}

// Follow lets a person follow an entity, or changes the level. The error is a [notification.PreferenceError]
// if no event is for such followers of the entity, or the person follows too many.
func (s Store) Follow(
	ctx context.Context, who notification.RecipientKey, entity notification.Entity, level notification.FollowLevel,
) error {
	const isFollowable = "SELECT EXISTS (SELECT" + followable + `
		AND    entity_type = $2)`
	const insert = `
		INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id, level)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_type, user_id, entity_type, entity_id) DO UPDATE
		SET    level = excluded.level`
	const what = "read whether an entity has followers"

	if err := check(entity); err != nil {
		return err
	}
	present, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return db.Wrap(err, what)
	}
	known, err := db.One(ctx, s.Pool, what, pgx.RowTo[bool], isFollowable, present.UserType, entity.Type)
	switch {
	case err != nil:
		return err
	case !known:
		return refused("you cannot follow %.60q: no event is for followers of your type", entity.Type)
	}
	return s.add(ctx, who, entity, followTable, insert, level)
}

// Mute lets nothing reach a person through an entity, except what is mandatory. The error is a
// [notification.PreferenceError] if the entity cannot be muted, or the person has muted too many.
func (s Store) Mute(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	const insert = `
		INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`

	if err := check(entity); err != nil {
		return err
	}
	return s.add(ctx, who, entity, muteTable, insert)
}

// check refuses an entity that nobody can follow or mute.
func check(entity notification.Entity) error {
	if entity.CanBeMuted() {
		return nil
	}
	return refused("the entity needs a type of 1 to 60 bytes, but not CUSTOMER, ADMIN or BROADCAST, and an id of 1 to 64 bytes, " +
		"without control characters")
}

func refused(format string, args ...any) error {
	return &notification.PreferenceError{Problems: []string{fmt.Sprintf(format, args...)}}
}

// add inserts a row, unless the person has the maximum number of others. Requests of one person wait for
// each other, so that they cannot exceed it together.
func (s Store) add(
	ctx context.Context, who notification.RecipientKey, entity notification.Entity, table, insert string, more ...any,
) error {
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7312))"
	others := `
		SELECT count(*)
		FROM   ` + table + `
		WHERE  user_type = $1
		AND    user_id = $2
		AND    (entity_type, entity_id) <> ($3, $4)`

	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		who, err := db.Present(ctx, tx, who)
		if err != nil {
			return err
		}
		if !entity.CanBeMutedBy(who) {
			return refused("nobody can follow or mute themselves")
		}
		if _, err := tx.Exec(ctx, lock, who.String()); err != nil {
			return err
		}
		var count int
		if err := tx.QueryRow(ctx, others, who.UserType, who.UserID, entity.Type, entity.ID).Scan(&count); err != nil {
			return err
		}
		if count >= notification.MaxFollows {
			return refused("you have %d already, which is the most: remove one first", notification.MaxFollows)
		}
		batch := &pgx.Batch{}
		QueueChangedBy(batch, s.changedBy())
		batch.Queue(insert, append([]any{who.UserType, who.UserID, entity.Type, entity.ID}, more...)...)
		return tx.SendBatch(ctx, batch).Close()
	})
	if wrong, ok := errors.AsType[*notification.PreferenceError](err); ok {
		return wrong
	}
	return db.Wrap(err, "write "+table)
}

// Unfollow ends that a person follows an entity.
func (s Store) Unfollow(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	return s.remove(ctx, who, entity, followTable)
}

// Unmute ends that a person has muted an entity.
func (s Store) Unmute(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	return s.remove(ctx, who, entity, muteTable)
}

func (s Store) remove(ctx context.Context, who notification.RecipientKey, entity notification.Entity, table string) error {
	if err := check(entity); err != nil {
		return err
	}
	who, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return db.Wrap(err, "write "+table)
	}
	batch := &pgx.Batch{}
	QueueChangedBy(batch, s.changedBy())
	batch.Queue(`
		DELETE FROM `+table+`
		WHERE  user_type = $1
		AND    user_id = $2
		AND    entity_type = $3
		AND    entity_id = $4`, who.UserType, who.UserID, entity.Type, entity.ID)
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "write "+table)
}

// Muted reads whether a person has muted an entity, and the name of the entity; empty: none is known. Ask
// only about an entity of which the person got a message.
func (s Store) Muted(ctx context.Context, who notification.RecipientKey, entity notification.Entity) (muted bool, name string, err error) {
	const query = `
		SELECT EXISTS (
		           SELECT FROM entity_mute m
		           WHERE  (m.user_type, m.user_id, m.entity_type, m.entity_id) = ($1, $2, n.entity_type, n.entity_id)) AS muted,
		       ` + db.EntityName + ` AS entity_name
		FROM  (SELECT $3::text AS entity_type, $4::text AS entity_id) n`
	type row struct {
		Muted      bool
		EntityName string
	}
	found, err := db.One(ctx, s.Pool, "read whether an entity is muted", pgx.RowToStructByName[row], query, who.UserType, who.UserID,
		entity.Type, entity.ID)
	return found.Muted, found.EntityName, err
}
