package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// attemptFacts is a delivery with all facts that may have changed since planning.
type attemptFacts struct {
	notification.AttemptCheck
	now time.Time // by the database's clock
}

// selectAttemptFacts is the start of a query that reads the deliveries n. The rules judge a
// delivery without an entity without a membership and without an entity's settings.
const selectAttemptFacts = `
	SELECT ` + recipientFacts + `,
	       n.user_type, n.user_id, coalesce(n.entity_type, ''), coalesce(n.entity_id, ''), m.roles,
	       now(), n.delivery_id, n.channel, coalesce(` + withdrawal + `, ''), n.expires_at,
	       r.user_id IS NOT NULL,
	       coalesce(r.active, false),
	       n.entity_type IS NULL OR n.entity_type IN ('CUSTOMER', 'ADMIN', 'BROADCAST') OR m.active,
	       jsonb_build_object(
	           'Category', coalesce((SELECT g.category FROM event_category g WHERE g.event_type = n.event_type), ''),
	           'Routing', (
	               SELECT jsonb_agg(` + routingFacts + `)
	               FROM   event_type_channel_routing e
	               WHERE  e.event_type = n.event_type
	               AND    e.channel_type = n.channel
	           ),
	           'Supported', (
	               SELECT jsonb_build_object(n.channel, jsonb_agg(c.user_type))
	               FROM   channel_user_type c
	               WHERE  c.channel_type = n.channel
	           ),
	           'Settings', (
	               SELECT jsonb_agg(` + settingFacts + `)
	               FROM   entity_notification_settings s
	               WHERE  s.channel_type = n.channel
	               AND    (s.event_type IS NULL OR s.event_type = n.event_type)
	               AND    s.entity_type = CASE n.user_type WHEN 'CUSTOMER' THEN 'CUSTOMER' ELSE n.entity_type END
	               AND    s.entity_id = CASE n.user_type WHEN 'CUSTOMER' THEN '0' ELSE n.entity_id END
	           ))
	FROM   notification n
	` + recipientOf + `
	` + membershipOf + `
	WHERE  `

// attemptFacts reads the facts about deliveries that the rules need.
func (s *Store) attemptFacts(ctx context.Context, ids []string) ([]attemptFacts, error) {
	found, err := readAttemptFacts(ctx, s.Pool, "n.delivery_id = ANY ($1)", ids)
	if err != nil {
		return nil, err
	}
	people := make([]*notification.Recipient, len(found))
	for i := range found {
		people[i] = &found[i].Recipient
	}
	return found, s.readSuppressions(ctx, s.Pool, people)
}

func readAttemptFacts(ctx context.Context, on Querier, condition string, args ...any) ([]attemptFacts, error) {
	return Collect(ctx, on, "read facts of deliveries", scanAttemptFacts, selectAttemptFacts+condition, args...)
}

func scanAttemptFacts(row pgx.CollectableRow) (attemptFacts, error) {
	var f attemptFacts
	r := &f.Recipient
	err := row.Scan(append(recipientFields(r), &r.UserType, &r.UserID, &r.Entity.Type, &r.Entity.ID, &r.Roles,
		&f.now, &f.DeliveryID, &f.Channel, &f.Withdrawn, orZero{&f.ExpiresAt}, &f.Known, &f.Active, &f.Member, &f.Setup)...)
	return f, err
}

// QuietCheck reads the current facts for a delivery's quiet hours. If the delivery does not
// exist, the error is [notification.ErrNoDelivery].
func (s *Store) QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error) {
	found, err := readAttemptFacts(ctx, s.Pool, "n.delivery_id = $1", deliveryID)
	if err == nil && len(found) == 0 {
		err = notification.ErrNoDelivery
	}
	return quietCheck(found), err
}

// DigestQuietCheck reads the current facts for a digest's quiet hours. They include the
// quiet hours of each entity whose notifications the digest may list.
func (s *Store) DigestQuietCheck(ctx context.Context, key notification.DigestKey) (notification.QuietCheck, error) {
	const waiting = `n.user_type = $1
		AND    n.user_id = $2
		AND    n.channel = $3
		AND    n.event_type = $4
		AND    n.strategy = 'AGGREGATE'
		AND    n.status = 'PENDING'
		ORDER BY n.id
		LIMIT  $5`

	found, err := readAttemptFacts(ctx, s.Pool, waiting, key.UserType, key.UserID, key.Channel, key.EventType, notification.MaxDigestItems)
	return quietCheck(found), err
}

// quietCheck returns the facts that deliveries to one recipient share, and the quiet
// hours of each of their entities.
func quietCheck(deliveries []attemptFacts) notification.QuietCheck {
	var check notification.QuietCheck
	seen := map[notification.Entity]bool{}
	for _, d := range deliveries {
		facts := d.Setup.Facts(d.Recipient, d.Channel, d.now, nil)
		check.Action, check.Preference, check.Timezone = facts.Routing.QuietHoursAction, facts.Preference, d.Recipient.Timezone
		if facts.Setting.QuietHours != nil && !seen[facts.Setting.Entity] {
			seen[facts.Setting.Entity] = true
			check.Groups = append(check.Groups, facts.Setting)
		}
	}
	return check
}
