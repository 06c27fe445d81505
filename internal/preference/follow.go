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

// nameOf is the name of the entity of a row e.
const nameOf = `coalesce((
		           SELECT n.name::text
		           FROM   entity_name n
		           WHERE  n.entity_type::text = e.entity_type
		           AND    n.entity_id::text = e.entity_id
		           LIMIT  1), '') AS entity_name`

// Follows reads what a person follows, up to [notification.MaxFollows] entities.
func (s Store) Follows(ctx context.Context, who notification.RecipientKey) ([]Follow, error) {
	return entities[Follow](ctx, s, who, followTable, ", e.level")
}

// Mutes reads what a person has muted, up to [notification.MaxFollows] entities.
func (s Store) Mutes(ctx context.Context, who notification.RecipientKey) ([]Mute, error) {
	return entities[Mute](ctx, s, who, muteTable, "")
}

func entities[T any](ctx context.Context, s Store, who notification.RecipientKey, table, columns string) ([]T, error) {
	who, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return nil, db.Wrap(err, "read "+table)
	}
	return db.Collect(ctx, s.Pool, "read "+table, pgx.RowToStructByName[T], `
		SELECT e.entity_type, e.entity_id, `+nameOf+columns+`
		FROM   `+table+` e
		WHERE  e.user_type = $1
		AND    e.user_id = $2
		ORDER BY e.entity_type, e.entity_id
		LIMIT  $3`, who.UserType, who.UserID, notification.MaxFollows)
}

// FollowableTypes reads the types of entities that have followers: events name them with the role
// FOLLOWER.
func (s Store) FollowableTypes(ctx context.Context) ([]string, error) {
	const query = `
		SELECT DISTINCT entity_type
		FROM   event_type_recipients
		WHERE  'FOLLOWER' = ANY (roles)
		AND    entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		ORDER BY entity_type
		LIMIT  $1`
	return db.Collect(ctx, s.Pool, "read which entities have followers", pgx.RowTo[string], query, notification.MaxFollows)
}

// Follow lets a person follow an entity, or changes the level. The error is a [notification.PreferenceError]
// if the entity has no followers, or the person follows too many.
func (s Store) Follow(
	ctx context.Context, who notification.RecipientKey, entity notification.Entity, level notification.FollowLevel,
) error {
	const followable = `
		SELECT EXISTS (
		           SELECT FROM event_type_recipients
		           WHERE  entity_type = $1
		           AND    'FOLLOWER' = ANY (roles))`
	const insert = `
		INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id, level)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_type, user_id, entity_type, entity_id) DO UPDATE
		SET    level = excluded.level`

	if err := check(entity); err != nil {
		return err
	}
	known, err := db.One(ctx, s.Pool, "read whether an entity has followers", pgx.RowTo[bool], followable, entity.Type)
	switch {
	case err != nil:
		return err
	case !known:
		return refused("nobody can follow %.60q: no event is for followers of this type", entity.Type)
	}
	return s.add(ctx, who, entity, byInbox, followTable, insert, level)
}

// Mute lets nothing reach a person through an entity, except what is mandatory. The error is a
// [notification.PreferenceError] if the entity cannot be muted, or the person has muted too many.
func (s Store) Mute(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	return s.mute(ctx, who, entity, byInbox)
}

// MuteByLink does the same as [Store.Mute] for somebody who has a link from a message.
func (s Store) MuteByLink(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	return s.mute(ctx, who, entity, byLink)
}

func (s Store) mute(ctx context.Context, who notification.RecipientKey, entity notification.Entity, how string) error {
	const insert = `
		INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`

	if err := check(entity); err != nil {
		return err
	}
	return s.add(ctx, who, entity, how, muteTable, insert)
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
	ctx context.Context, who notification.RecipientKey, entity notification.Entity, how, table, insert string, more ...any,
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
		QueueChangedBy(batch, how)
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
	return s.remove(ctx, who, entity, byInbox, followTable)
}

// Unmute ends that a person has muted an entity.
func (s Store) Unmute(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	return s.remove(ctx, who, entity, byInbox, muteTable)
}

// UnmuteByLink does the same as [Store.Unmute] for somebody who has a link from a message.
func (s Store) UnmuteByLink(ctx context.Context, who notification.RecipientKey, entity notification.Entity) error {
	return s.remove(ctx, who, entity, byLink, muteTable)
}

func (s Store) remove(ctx context.Context, who notification.RecipientKey, entity notification.Entity, how, table string) error {
	if err := check(entity); err != nil {
		return err
	}
	who, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return db.Wrap(err, "write "+table)
	}
	batch := &pgx.Batch{}
	QueueChangedBy(batch, how)
	batch.Queue(`
		DELETE FROM `+table+`
		WHERE  user_type = $1
		AND    user_id = $2
		AND    entity_type = $3
		AND    entity_id = $4`, who.UserType, who.UserID, entity.Type, entity.ID)
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "write "+table)
}

// Muted reads whether a person has muted an entity, and the name of the entity; empty: none is known.
func (s Store) Muted(ctx context.Context, who notification.RecipientKey, entity notification.Entity) (muted bool, name string, err error) {
	const query = `
		SELECT EXISTS (
		           SELECT FROM entity_mute m
		           WHERE  (m.user_type, m.user_id, m.entity_type, m.entity_id) = ($1, $2, e.entity_type, e.entity_id)) AS muted,
		       ` + nameOf + `
		FROM  (SELECT $3::text AS entity_type, $4::text AS entity_id) e`
	type row struct {
		Muted      bool
		EntityName string
	}
	found, err := db.One(ctx, s.Pool, "read whether an entity is muted", pgx.RowToStructByName[row], query, who.UserType, who.UserID,
		entity.Type, entity.ID)
	return found.Muted, found.EntityName, err
}
