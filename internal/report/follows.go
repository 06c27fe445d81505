package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// EntityChoice is an entity that a recipient follows or has muted.
type EntityChoice struct {
	EntityType string
	EntityID   string
	EntityName string                   // empty: it has none
	Level      notification.FollowLevel // empty: muted
	Since      time.Time
}

// EntityChoices reads the entities that a recipient follows or has muted, the last choice first, up to limit.
func (r Reader) EntityChoices(ctx context.Context, who notification.RecipientKey, limit int) ([]EntityChoice, error) {
	query := `
		SELECT n.entity_type, n.entity_id, ` + db.EntityName + ` AS entity_name, n.level, n.since
		FROM  (SELECT entity_type, entity_id, level, created_at AS since
		       FROM   entity_follow
		       WHERE  user_type = $1
		       AND    user_id = $2
		       UNION ALL
		       SELECT entity_type, entity_id, '', created_at
		       FROM   entity_mute
		       WHERE  user_type = $1
		       AND    user_id = $2) n
		ORDER BY n.since DESC, n.entity_type, n.entity_id
		LIMIT  $3`

	return db.Collect(ctx, r.Pool, "read what a recipient follows and mutes", pgx.RowToStructByName[EntityChoice], query,
		who.UserType, who.UserID, limit)
}
