package preference

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

const (
	// mayReach reports whether events of a row e of event_type_channel_routing may reach
	// recipients of type $1. Either one of the event type's rows names the type, or the
	// aggregate decides.
	mayReach = `(NOT EXISTS (SELECT FROM event_type_recipients t WHERE t.event_type = e.event_type)
		    OR EXISTS (
		           SELECT FROM event_type_recipients t
		           WHERE  t.event_type = e.event_type
		           AND    coalesce(t.user_type, $1) = $1
		           AND    (t.entity_type NOT IN ('CUSTOMER', 'ADMIN') OR t.entity_type = $1)))`

	// clockOf and clockEnd write a time of day as a person does: 22:00, and with seconds
	// only if they are not 0.
	clockOf  = `coalesce(regexp_replace(`
	clockEnd = `::text, ':00$', ''), '')`

	zonePreference = `
		SELECT coalesce((SELECT r.timezone FROM ` + db.DirectoryPerson + ` r WHERE r.user_type = $1 AND r.user_id = $2 LIMIT 1), 'UTC')`
	// digestPreference is null if no digest that may reach them has a time.
	digestPreference = `
		SELECT ` + clockOf + `(SELECT z.digest_at FROM user_settings z WHERE (z.user_type, z.user_id) = ($1, $2))` + clockEnd + `
		WHERE  EXISTS (SELECT FROM event_type_channel_routing e WHERE e.digest_at IS NOT NULL AND ` + mayReach + `)`
	channelPreferences = `
		SELECT c.channel_type AS channel,
		       m.mandatory OR coalesce(p.enabled, true) AS enabled,
		       m.mandatory,
		       coalesce(p.quiet_hours_enabled, false) AS quiet_enabled,
		       ` + clockOf + `p.quiet_hours_start` + clockEnd + ` AS quiet_start,
		       ` + clockOf + `p.quiet_hours_end` + clockEnd + ` AS quiet_end
		FROM   channel_user_type c
		LEFT JOIN user_notification_preferences p ON (p.user_type, p.user_id, p.channel_type) = ($1, $2, c.channel_type)
		CROSS JOIN LATERAL (
		    SELECT coalesce(bool_and(e.mandatory), false) AS mandatory
		    FROM   event_type_channel_routing e
		    WHERE  e.channel_type = c.channel_type
		    AND    ` + mayReach + `) m
		WHERE  c.user_type = $1
		ORDER BY array_position($3::text[], c.channel_type)`
	categoryPreferences = `
		SELECT g.category, e.channel_type,
		       bool_and(e.mandatory) OR coalesce(bool_and(p.enabled), true),
		       bool_and(e.mandatory)
		FROM   event_category g
		JOIN   event_type_channel_routing e USING (event_type)
		JOIN   channel_user_type c ON (c.channel_type, c.user_type) = (e.channel_type, $1)
		LEFT JOIN user_category_preferences p ON (p.user_type, p.user_id, p.category, p.channel_type) = ($1, $2, g.category, e.channel_type)
		WHERE  ` + mayReach + `
		GROUP BY g.category, e.channel_type
		ORDER BY g.category, array_position($3::text[], e.channel_type)
		LIMIT  $4`
)

// Preferences reads a recipient's choices, with the defaults where they have chosen
// nothing. Mandatory notifications are on.
func (s Store) Preferences(ctx context.Context, who notification.RecipientKey) (notification.Preferences, error) {
	to, err := db.Present(ctx, s.Pool, who)
	if err != nil {
		return notification.Preferences{}, db.Wrap(err, "read preferences")
	}
	return preferences(ctx, s.Pool, to)
}

func preferences(ctx context.Context, on db.Querier, who notification.RecipientKey) (notification.Preferences, error) {
	found := notification.Preferences{Channels: []notification.ChannelPreference{}, Categories: []notification.CategoryPreference{}}
	batch := &pgx.Batch{}
	batch.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&found.AsOf) })
	batch.Queue(zonePreference, who.UserType, who.UserID).QueryRow(func(row pgx.Row) error { return row.Scan(&found.Timezone) })
	batch.Queue(digestPreference, who.UserType, who.UserID).QueryRow(func(row pgx.Row) error {
		return db.IgnoreNoRows(row.Scan(&found.DigestAt))
	})
	type channelRow struct {
		notification.ChannelPreference
		Quiet notification.QuietHoursPreference
	}
	var channels []channelRow
	db.QueueInto(batch, &channels, db.ByName[channelRow](), channelPreferences, who.UserType, who.UserID, notification.Channels())
	var category string
	var enabled bool
	var channel notification.CategoryChannel
	db.QueueEach(batch, []any{&category, &channel.Channel, &enabled, &channel.Mandatory}, func() {
		channel.Enabled = new(enabled)
		last := len(found.Categories) - 1
		if last < 0 || found.Categories[last].Category != category {
			found.Categories, last = append(found.Categories, notification.CategoryPreference{Category: category}), last+1
		}
		found.Categories[last].Channels = append(found.Categories[last].Channels, channel)
	}, categoryPreferences, who.UserType, who.UserID, notification.Channels(), db.MaxRowsPerEventType)
	err := on.SendBatch(ctx, batch).Close()
	for _, row := range channels {
		if row.Channel.Quieted() {
			row.QuietHours = &row.Quiet
		}
		found.Channels = append(found.Channels, row.ChannelPreference)
	}
	return found, db.Wrap(err, "read preferences")
}

// The values of changed_by for people.
const (
	byInbox           = "inbox"
	byLink            = "link"
	byUnsubscribeLink = "unsubscribe link"
)

// SetPreferences stores the preferences in wanted: all of them, or none. They apply from the
// next event on. If a preference is invalid, or would switch off something mandatory, the
// error is a [notification.PreferenceError].
func (s Store) SetPreferences(ctx context.Context, who notification.RecipientKey, wanted notification.Preferences) error {
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		who, err := db.Present(ctx, tx, who)
		if err != nil {
			return err
		}
		current, err := preferences(ctx, tx, who)
		if err != nil {
			return err
		}
		if err := wanted.Check(current); err != nil {
			return err
		}
		wanted.Timezone = notification.PresentZone(wanted.Timezone)
		if wanted.Timezone == notification.PresentZone(current.Timezone) {
			wanted.Timezone = "" // keeps the directory's time zone
		}
		return tx.SendBatch(ctx, storePreferences(who, wanted.Touched(current), s.changedBy())).Close()
	})
	var wrong *notification.PreferenceError
	if errors.As(err, &wrong) {
		return wrong
	}
	return db.Wrap(err, "store preferences")
}

// QueueChangedBy names who changes preferences in the rest of the transaction. A trigger
// records it.
func QueueChangedBy(batch *pgx.Batch, how string) {
	batch.Queue("SELECT set_config('herald.changed_by', $1, true)", how)
}

// storePreferences writes rows in the order of their keys, so that two requests of one
// recipient cannot deadlock.
func storePreferences(who notification.RecipientKey, wanted notification.Preferences, how string) *pgx.Batch {
	const timezone = `
		INSERT INTO user_settings (user_type, user_id, timezone)
		SELECT $1, $2, $3
		WHERE  $3 <> ''
		ON CONFLICT (user_type, user_id) DO UPDATE
		SET    timezone = excluded.timezone`
	const digests = `
		INSERT INTO user_settings (user_type, user_id, digest_at)
		VALUES ($1, $2, nullif($3, '')::time)
		ON CONFLICT (user_type, user_id) DO UPDATE
		SET    digest_at = excluded.digest_at`
	const quietHours = `
		INSERT INTO user_notification_preferences AS p (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		SELECT $1, $2, w.channel, (w.quiet_hours ->> 'enabled')::boolean, nullif(w.quiet_hours ->> 'start', '')::time,
		       nullif(w.quiet_hours ->> 'end', '')::time
		FROM   jsonb_to_recordset($3) AS w (channel text, quiet_hours jsonb)
		WHERE  w.quiet_hours IS NOT NULL
		AND   ((w.quiet_hours ->> 'enabled')::boolean
		    OR EXISTS (SELECT FROM user_notification_preferences o WHERE (o.user_type, o.user_id, o.channel_type) = ($1, $2, w.channel)))
		ORDER BY w.channel
		ON CONFLICT (user_type, user_id, channel_type) DO UPDATE
		SET    quiet_hours_enabled = excluded.quiet_hours_enabled,
		       quiet_hours_start   = excluded.quiet_hours_start,
		       quiet_hours_end     = excluded.quiet_hours_end`

	batch := &pgx.Batch{}
	QueueChangedBy(batch, how)
	batch.Queue(timezone, who.UserType, who.UserID, wanted.Timezone)
	if wanted.DigestAt != nil {
		batch.Queue(digests, who.UserType, who.UserID, *wanted.DigestAt)
	}
	var choices []Choice
	for _, c := range wanted.Channels {
		if c.Enabled != nil {
			choices = append(choices, Choice{RecipientKey: who, Channel: c.Channel, Enabled: *c.Enabled, At: wanted.AsOf})
		}
	}
	for _, g := range wanted.Categories {
		for _, c := range g.Channels {
			choices = append(choices, Choice{RecipientKey: who, Category: g.Category, Channel: c.Channel, Enabled: *c.Enabled, At: wanted.AsOf})
		}
	}
	QueueChoices(batch, choices)
	if len(wanted.Channels) > 0 {
		batch.Queue(quietHours, who.UserType, who.UserID, wanted.Channels)
	}
	return batch
}

// Choice is a recipient's choice whether to get a category over a channel.
type Choice struct {
	notification.RecipientKey
	Category string // empty: all messages over the channel
	Channel  notification.Channel
	Enabled  bool
	At       *time.Time // a choice that was made after this time stays; nil: this one is made now
	Undoes   string     // only a choice with this changed_by is changed; empty: any

	// For a choice that follows from a receipt of a delivery or digest: a later receipt with the
	// opposite choice stays.
	ReceiptOf string
	Said      *time.Time
}

// QueueChoices writes choices of known user types in the order of their keys. A choice of a merged
// person counts for the target of the merge. The latest of several choices counts. A choice with a
// time that changes nothing is not written: it was only read.
func QueueChoices(batch *pgx.Batch, all []Choice) {
	const wanted = `
		WITH wanted AS (
			SELECT DISTINCT ON (p."UserType", p."UserID", "Category", "Channel") p.*, "Category", "Channel", "Enabled", "At", "Undoes", "ReceiptOf",
			       "Said"
			FROM   jsonb_to_recordset($1) AS c ("UserType" text, "UserID" text, "Category" text, "Channel" text, "Enabled" boolean, "At" timestamptz,
			       "Undoes" text,
			                                   "ReceiptOf" text, "Said" timestamptz)
			LEFT JOIN merged_recipient m ON (m.user_type, m.user_id) = (c."UserType", c."UserID")
			CROSS JOIN LATERAL (SELECT coalesce(m.to_user_type, c."UserType") AS "UserType", coalesce(m.to_user_id, c."UserID") AS "UserID") p
			JOIN   user_type t ON t.user_type = p."UserType"
			ORDER BY p."UserType", p."UserID", "Category", "Channel", "Said" DESC, "Enabled"
		)`
	const stays = `(w."At" IS NOT NULL AND coalesce(o.enabled, true) = w."Enabled")
		       OR coalesce(o.changed_at > w."At", false)
		       OR (w."Undoes" <> '' AND o.changed_by IS DISTINCT FROM w."Undoes")
		       OR EXISTS (
		              SELECT FROM delivery_receipt r
		              WHERE  r.delivery_id = w."ReceiptOf"
		              AND    r.at > w."Said"
		              AND    r.status = ANY (CASE WHEN w."Enabled" THEN '{unsubscribe,group_unsubscribe}'
		                  ELSE '{group_resubscribe}' END::text[]))`
	const channels = wanted + `
		INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled)
		SELECT w."UserType", w."UserID", w."Channel", w."Enabled"
		FROM   wanted w
		LEFT JOIN user_notification_preferences o ON (o.user_type, o.user_id, o.channel_type) = (w."UserType", w."UserID", w."Channel")
		WHERE  w."Category" = ''
		AND    NOT (` + stays + `)
		ORDER BY 1, 2, 3
		ON CONFLICT (user_type, user_id, channel_type) DO UPDATE
		SET    enabled = excluded.enabled`
	const categories = wanted + `
		INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
		SELECT w."UserType", w."UserID", w."Category", w."Channel", w."Enabled"
		FROM   wanted w
		LEFT JOIN user_category_preferences o ON (o.user_type, o.user_id, o.category, o.channel_type) = (w."UserType", w."UserID", w."Category",
		       w."Channel")
		WHERE  w."Category" <> ''
		AND    NOT (` + stays + `)
		ORDER BY 1, 2, 3, 4
		ON CONFLICT (user_type, user_id, category, channel_type) DO UPDATE
		SET    enabled = excluded.enabled`

	if len(all) > 0 {
		batch.Queue(channels, all)
		batch.Queue(categories, all)
	}
}
