package db

import (
	"context"

	"herald/internal/notification"
)

// The directory is recipient, recipient_device, entity_member and entity_name, which may be views over
// an application's tables. Every statement reads them through these constants, which cast
// each column to the type that Herald uses. On Herald's own tables the casts cost nothing,
// and hide no index. A time zone that a recipient has chosen replaces the directory's. A person of
// erased_recipient is not active, whatever the directory says: so nothing is planned or sent for
// them, and no gateway lets them in.
const (
	directoryActive = `active::boolean AND NOT EXISTS (
	               SELECT FROM erased_recipient e
	               WHERE  e.user_type = recipient.user_type::text
	               AND    e.user_id = recipient.user_id::text) AS active`
	directoryZone = `coalesce((
	               SELECT z.timezone
	               FROM   user_settings z
	               WHERE  z.user_type = recipient.user_type::text
	               AND    z.user_id = recipient.user_id::text), timezone::text)`
	// DirectoryPerson holds the columns that a gateway may read: no name and no address.
	DirectoryPerson = `(
	    SELECT user_type::text, user_id::text, ` + directoryZone + ` AS timezone, ` + directoryActive + `
	    FROM   recipient)`
	// DirectoryRecipient reads an optional column as NULL from a view that lacks the column: then the
	// column's name means the column of absent.
	DirectoryRecipient = `(
	    SELECT present.*
	    FROM  (SELECT NULL::text AS webhook_url) absent
	    CROSS JOIN LATERAL (
	        SELECT user_type::text, user_id::text, name::text, email::text, phone::text, slack_webhook_url::text, webhook_url::text,
	               locale::text,
	               ` + directoryZone + ` AS timezone, ` + directoryActive + `
	        FROM   recipient) present)`
	// DirectoryDevice reads registered_at as NULL from a view that lacks it.
	DirectoryDevice = `(
	    SELECT present.*
	    FROM  (SELECT NULL::timestamptz AS registered_at) absent
	    CROSS JOIN LATERAL (
	        SELECT user_type::text, user_id::text, token::text, active::boolean, registered_at::timestamptz
	        FROM   recipient_device
	        WHERE  token::text <> '') present)`
	DirectoryMember = `(
	    SELECT entity_type::text, entity_id::text, user_type::text, user_id::text, role::text, active::boolean
	    FROM   entity_member)`
	// DirectoryEntityName cuts a name from a view: a page of the inbox has room for 200 characters.
	DirectoryEntityName = `(
	    SELECT entity_type::text, entity_id::text, left(name::text, 200) AS name
	    FROM   entity_name)`
)

// DirectoryColumn is a column of the directory. A view must have it too, except for [MayLack].
type DirectoryColumn struct {
	Table string
	Name  string
	Type  string // any other type that can be cast to it will do
	Null  string // the meaning of a NULL
}

// PassedOver is the meaning of a NULL in a column that identifies a person or an entity.
const PassedOver = "the row is passed over"

// MayLack is the meaning of a NULL in a column that a view may lack.
const MayLack = "no webhook; a view may lack the column"

// DirectoryColumns returns all columns of the directory that Herald reads.
func DirectoryColumns() []DirectoryColumn {
	return []DirectoryColumn{
		{"recipient", "user_type", "text", PassedOver},
		{"recipient", "user_id", "text", PassedOver},
		{"recipient", "name", "text", "an empty name"},
		{"recipient", "email", "text", "no address"},
		{"recipient", "phone", "text", "no number"},
		{"recipient", "slack_webhook_url", "text", "no webhook"},
		{"recipient", "webhook_url", "text", MayLack},
		{"recipient", "locale", "text", "en"},
		{"recipient", "timezone", "text", "UTC"},
		{"recipient", "active", "boolean", "not active"},
		{"recipient_device", "user_type", "text", PassedOver},
		{"recipient_device", "user_id", "text", PassedOver},
		{"recipient_device", "token", "text", PassedOver},
		{"recipient_device", "active", "boolean", "not active"},
		{"recipient_device", "registered_at", "timestamptz", MayLack},
		{"entity_member", "entity_type", "text", PassedOver},
		{"entity_member", "entity_id", "text", PassedOver},
		{"entity_member", "user_type", "text", PassedOver},
		{"entity_member", "user_id", "text", PassedOver},
		{"entity_member", "role", "text", "no role"},
		{"entity_member", "active", "boolean", "not active"},
		{"entity_name", "entity_type", "text", PassedOver},
		{"entity_name", "entity_id", "text", PassedOver},
		{"entity_name", "name", "text", "no name"},
	}
}

// Present reads the target of the merge of who; without a merge, it returns who.
func Present(ctx context.Context, on Querier, who notification.RecipientKey) (notification.RecipientKey, error) {
	const query = "SELECT to_user_type, to_user_id FROM merged_recipient WHERE user_type = $1 AND user_id = $2"

	to := who
	err := on.QueryRow(ctx, query, who.UserType, who.UserID).Scan(&to.UserType, &to.UserID)
	return to, IgnoreNoRows(err)
}
