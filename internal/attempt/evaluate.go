package attempt

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/suppression"
)

// evaluate asks the rules about deliveries whose leases were just taken, with all facts that
// may have changed since planning. A delivery that must not be sent becomes CANCELLED. That
// delivery, and a delivery that must wait, lose their leases. All others go to the current
// address. If the rules cannot be asked, no attempt begins: the caller gives the leases back.
func (s Store) evaluate(ctx context.Context, in notification.Begin, ids []string, begun attempts) error {
	found, err := s.attemptFacts(ctx, ids)
	if err != nil {
		return err
	}
	var held, moved []notification.Attempt
	for _, f := range found {
		f.SkipQuiet, f.Ordered, f.Again = f.SkipQuiet || in.SkipQuiet, in.Ordered, in.Again
		attempt, address := begun[f.DeliveryID], f.Recipient.Address(f.Channel)
		if attempt.Verdict = f.Evaluate(f.Now).Until(f.ExpiresAt); attempt.Held() {
			held = append(held, attempt)
		} else if address != attempt.Message.To {
			attempt.Message.To = address
			moved = append(moved, attempt)
		}
		begun[f.DeliveryID] = attempt
	}
	if err := s.settle(ctx, held, moved); err != nil {
		return err
	}
	for _, attempt := range held {
		begun[attempt.Message.DeliveryID] = heldBack(attempt)
	}
	return nil
}

// heldBack returns the result of an attempt whose verdict took its lease.
func heldBack(attempt notification.Attempt) notification.Attempt {
	if attempt.Dropped != "" && attempt.Status == notification.Pending {
		attempt.Status = notification.Cancelled
	}
	return notification.Attempt{Status: attempt.Status, Verdict: attempt.Verdict}
}

// releaseTimeout limits the statement that gives leases back after a failure.
const releaseTimeout = 2 * time.Second

// releaseOwner gives back the leases of an owner after a failure: perhaps the statement that took them was
// committed, and only its result was lost. No call has begun, so the attempts do not count, and are not
// lost. The statement first locks the rows, so that it sees a commit that is under way.
func (s Store) releaseOwner(ctx context.Context, in notification.Begin) {
	const query = `
		WITH taken AS MATERIALIZED (
			SELECT n.id, n.attempt_owner
			FROM   notification n
			WHERE  n.delivery_id = ANY ($1)
			ORDER BY n.id
			FOR UPDATE
		)
		UPDATE notification n
		SET    attempt_count = n.attempt_count - CASE WHEN EXISTS (SELECT FROM delivery_attempt a
		       WHERE (a.delivery_id, a.attempt) = (n.delivery_id, n.attempt_count)) THEN 0 ELSE 1 END,
		       attempt_owner = NULL,
		       attempt_until = NULL,
		       attempt_began = NULL
		FROM   taken t
		WHERE  n.id = t.id
		AND    t.attempt_owner = $2`

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_ = s.Exec(ctx, "release attempts", query, in.DeliveryIDs, in.Owner) // the caller returns the error that led here
}

// ReleaseAttempts gives back the leases of attempts that were not made, in one statement.
// These attempts do not count. The verdict may drop a delivery, which becomes CANCELLED, or delay it
// until a time.
func (s Store) ReleaseAttempts(ctx context.Context, attempts []notification.Attempt) error {
	return db.Wrap(s.settle(ctx, attempts, nil), "release attempts")
}

// settle releases attempts, and records the new addresses of attempts that continue.
func (s Store) settle(ctx context.Context, released, moved []notification.Attempt) error {
	const query = `
		UPDATE notification n
		SET    attempt_count     = CASE WHEN r.moved THEN n.attempt_count ELSE r.counted END,
		       attempt_owner     = CASE WHEN r.moved THEN n.attempt_owner END,
		       attempt_until     = CASE WHEN r.moved THEN n.attempt_until END,
		       attempt_began     = CASE WHEN r.moved THEN n.attempt_began END,
		       recipient_address = CASE WHEN r.moved THEN nullif(r.address, '') ELSE n.recipient_address END,
		       status            = CASE WHEN r.dropped THEN 'CANCELLED' ELSE n.status END,
		       last_error        = CASE WHEN r.dropped THEN r.reason ELSE n.last_error END,
		       next_attempt_at   = CASE WHEN ` + movedMeanwhile + ` THEN n.next_attempt_at ELSE coalesce(r.not_before, n.next_attempt_at) END,
		       send_after        = CASE WHEN n.send_after IS NOT NULL
		           AND NOT ` + movedMeanwhile + ` THEN coalesce(r.not_before, n.send_after)
			ELSE n.send_after END -- a delivery that was planned for at once stays in its lane
		FROM  (SELECT n.id, i.moved, i.counted, i.address, i.reason, i.not_before, i.reason <> '' AND n.status = 'PENDING' AS dropped
		       FROM   unnest((SELECT $1::text[]), $2::text[], $3::boolean[], $4::int[], $5::text[], $6::text[], $7::timestamptz[])
		                  AS i (delivery_id, owner, moved, counted, address, reason, not_before)
		       JOIN   notification n USING (delivery_id)
		       WHERE  n.attempt_owner = i.owner
		       ORDER BY n.id
		       FOR UPDATE OF n) AS r
		WHERE  n.id = r.id`

	var ids, owners, addresses, reasons []string
	var moves []bool
	var counted []int
	var notBefore []*time.Time
	for i, a := range slices.Concat(released, moved) {
		ids, owners, moves = append(ids, a.Message.DeliveryID), append(owners, a.Owner), append(moves, i >= len(released))
		counted, addresses = append(counted, a.Counted), append(addresses, a.Message.To)
		reasons, notBefore = append(reasons, a.Dropped), append(notBefore, db.Optional(a.NotBefore))
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := s.Pool.Exec(ctx, query, ids, owners, moves, counted, addresses, reasons, notBefore)
	return err
}

// attemptFacts is a delivery with all facts that may have changed since planning.
type attemptFacts struct {
	notification.AttemptCheck
	Now time.Time // by the database's clock
}

// toldFollowers reports whether the event type of the delivery n tells people who follow its entity.
const toldFollowers = `EXISTS (
		               SELECT FROM event_type_recipients e
		               WHERE  e.event_type = n.event_type
		               AND    e.entity_type = n.entity_type
		               AND    (e.user_type IS NULL OR e.user_type = n.user_type)
		               AND    '` + notification.Follower + `' = ANY (e.roles))`

// selectAttemptFacts is the start of a query that reads the deliveries n. A delivery without an
// entity is evaluated without a membership and without an entity's settings.
var selectAttemptFacts = `
	SELECT ` + planner.RecipientFacts + `,
	       n.user_type, n.user_id,
	       coalesce(n.entity_type, '') AS entity_type,
	       coalesce(n.entity_id, '') AS entity_id,
	       m.roles,
	       coalesce(n.member_role, '') AS member_role,
	       m.important_only,
	       m.muted,
	       now() AS now,
	       n.delivery_id,
	       n.channel,
	       coalesce(` + db.Withdrawal + `, '') AS withdrawn,
	       n.expires_at,
	       n.operator_time IS NOT DISTINCT FROM 'NOW' AS skip_quiet,
	       r.user_id IS NOT NULL AS known,
	       coalesce(r.active, false) AS active,
	       n.entity_type IS NULL OR n.entity_type IN ('CUSTOMER', 'ADMIN', 'BROADCAST') OR m.active AS member,
	       jsonb_build_object(
	           'Category', coalesce((SELECT g.category FROM event_category g WHERE g.event_type = n.event_type), ''),
	           'Routing', (
	               SELECT jsonb_agg(` + planner.RoutingFacts + ` || jsonb_build_object('Strategy', n.strategy))
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
	               SELECT jsonb_agg(` + planner.SettingFacts + `)
	               FROM   entity_notification_settings s
	               WHERE  s.channel_type = n.channel
	               AND    (s.event_type IS NULL OR s.event_type = n.event_type)
	               AND    s.entity_type = CASE n.user_type WHEN 'CUSTOMER' THEN 'CUSTOMER' ELSE n.entity_type END
	               AND    s.entity_id = CASE n.user_type WHEN 'CUSTOMER' THEN '0' ELSE n.entity_id END
	           )) AS setup
	FROM   notification n
	` + db.RecipientOf + `
	` + db.MembershipOf(toldFollowers) + `
	WHERE  `

// attemptFacts reads the facts about deliveries that the rules need.
func (s Store) attemptFacts(ctx context.Context, ids []string) ([]attemptFacts, error) {
	found, err := readAttemptFacts(ctx, s.Pool, "n.delivery_id = ANY ($1)", ids)
	if err != nil {
		return nil, err
	}
	people := make([]*notification.Recipient, len(found))
	for i := range found {
		people[i] = &found[i].Recipient
	}
	return found, suppression.On(s.DB).ReadSuppressions(ctx, s.Pool, people)
}

func readAttemptFacts(ctx context.Context, on db.Querier, condition string, args ...any) ([]attemptFacts, error) {
	type row struct {
		attemptFacts
		notification.Recipient
	}
	rows, err := db.Collect(ctx, on, "read facts of deliveries", db.ByName[row](), selectAttemptFacts+condition, args...)
	found := make([]attemptFacts, len(rows))
	for i, row := range rows {
		found[i] = row.attemptFacts
		found[i].Recipient = row.Recipient
	}
	return found, err
}

// QuietCheck reads the current facts for a delivery's quiet hours. If the delivery does not
// exist, the error is [notification.ErrNoDelivery].
func (s Store) QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error) {
	found, err := readAttemptFacts(ctx, s.Pool, "n.delivery_id = $1", deliveryID)
	if err == nil && len(found) == 0 {
		err = notification.ErrNoDelivery
	}
	return quietCheck(found), err
}

// DigestQuietCheck reads the current facts for a digest's quiet hours. They include the
// quiet hours of each entity whose notifications the digest may list.
func (s Store) DigestQuietCheck(ctx context.Context, key notification.DigestKey) (notification.QuietCheck, error) {
	const waiting = `n.user_type = @user_type
		AND    n.user_id = @user_id
		AND    n.channel = @channel
		AND    n.event_type = @event_type
		AND    n.strategy = 'AGGREGATE'
		AND    n.status = 'PENDING'
		ORDER BY n.id
		LIMIT  @limit`

	found, err := readAttemptFacts(ctx, s.Pool, waiting, pgx.NamedArgs{
		"user_type": key.UserType, "user_id": key.UserID, "channel": key.Channel, "event_type": key.EventType,
		"limit": notification.MaxDigestItems,
	})
	return quietCheck(found), err
}

// quietCheck returns the facts that deliveries to one recipient share, and the quiet
// hours of each of their entities.
func quietCheck(deliveries []attemptFacts) notification.QuietCheck {
	var check notification.QuietCheck
	seen := map[notification.Entity]bool{}
	for _, d := range deliveries {
		facts := d.Setup.Facts(d.Recipient, d.Channel, d.Now, nil)
		check.Now, check.Action, check.Preference, check.Timezone = d.Now, facts.Routing.QuietHoursAction, facts.Preference, d.Recipient.Timezone
		if facts.Setting.QuietHours != nil && !seen[facts.Setting.Entity] {
			seen[facts.Setting.Entity] = true
			check.Groups = append(check.Groups, facts.Setting)
		}
	}
	return check
}
