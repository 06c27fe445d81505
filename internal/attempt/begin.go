package attempt

import (
	"context"
	"time"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/reason"
)

// BeginAttempts begins attempts at deliveries, for every sender, and returns one attempt
// per id, in the order of the ids.
//
// # Overview
//
// An attempt is a lease in the delivery's row: an owner that no other call uses, and an end. Two
// senders may ask for one delivery, for example a batch and a retry. The row lock orders them, and the
// second one sees the lease. Only the database's clock decides whether a lease has run out.
//
// A lease lasts for the provider's time-out and some seconds more. The sender calls the provider only
// if there is time for the whole call and its record. So a lease that has run out means that the process
// died or hung, or could not record the result. The next attempt then records the old one as LOST, and
// sends. The provider may have the old message, too: this is the repeat that a crash can cause. If the
// result of a LOST attempt arrives after all, [Store.EndAttempts] corrects its row.
//
// A lease ends in one of three ways. EndAttempts records a result. [Store.ReleaseAttempts] gives
// back an attempt that called nobody, which does not count. Or the time runs out. So no delivery stays
// locked, and a run that loses too many attempts fails the delivery.
//
// # Statements
//
// One statement takes the leases of all deliveries. The rules then evaluate some of them
// again, with facts committed after the leases were taken; see [Store.evaluate]. These
// deliveries were planned more than a minute ago, had to wait, have expired, are withdrawn by
// another event, or go to an erased person. Then the caps of the channel count the messages; see
// [Store.countMessages]. One more statement reads the rows of deliveries that were not begun: they
// have ended, wait for their time, or wait for their digest. A digest decides the time of its items. If a
// statement fails, the leases are given back.
func (s Store) BeginAttempts(ctx context.Context, in notification.Begin) ([]notification.Attempt, error) {
	begun, err := s.begin(ctx, in)
	if err == nil {
		err = s.readStatuses(ctx, in.DeliveryIDs, begun)
	}
	if err != nil {
		if !in.StatusOnly {
			s.releaseOwner(ctx, in)
		}
		return nil, db.Wrap(err, "begin attempts")
	}
	ordered := make([]notification.Attempt, len(in.DeliveryIDs))
	for i, id := range in.DeliveryIDs {
		ordered[i] = begun[id]
	}
	return ordered, nil
}

// begin takes leases, and asks the rules and the caps.
func (s Store) begin(ctx context.Context, in notification.Begin) (attempts, error) {
	begun := attempts{}
	if in.StatusOnly {
		return begun, nil
	}
	toEvaluate, toCount, err := s.takeLeases(ctx, in, begun)
	if err == nil && len(toEvaluate) > 0 {
		err = s.evaluate(ctx, in, toEvaluate, begun)
	}
	if err == nil && len(toCount) > 0 {
		err = s.countMessages(ctx, in, toCount, begun)
	}
	return begun, err
}

// attempts holds attempts by delivery id.
type attempts map[string]notification.Attempt

const (

	// uncounted reports whether the last attempt at the delivery n, and an earlier attempt in this
	// run, did not count: both found our account rejected, or both met the same outage. The next
	// attempt then reuses the number and the row of the last one. So a day with one attempt a minute
	// leaves two rows.
	uncounted = `EXISTS (
			           SELECT FROM delivery_attempt a
			           WHERE  a.delivery_id = n.delivery_id
			           AND    a.attempt = n.attempt_count
			           AND    a.outcome IN ('ACCOUNT', ` + outages + `)
			           AND    a.started_at < (
			               SELECT min(b.started_at) + CASE a.outcome WHEN 'ACCOUNT' THEN interval '1 year' ELSE $7 END
			               FROM   delivery_attempt b
			               WHERE  b.delivery_id = a.delivery_id
			               AND    b.attempt > $6
			               AND    b.attempt < a.attempt
			               AND    CASE a.outcome WHEN 'ACCOUNT' THEN b.outcome = 'ACCOUNT' ELSE b.outcome IN (` + outages + `) END))`

	// outages are the outcomes for which [notification.FailureClass.IsOutage] is true.
	outages = `'BUSY', 'UNREACHABLE'`

	// beginAttempts locks rows by id, as every statement that locks several rows does.
	// After it waits for a lock, it sees the current row. Every condition that keeps two
	// senders apart reads only that row. The planner cannot see the number or the
	// status of the deliveries, so it keeps its plan, which reads by id.
	beginAttempts = `
		WITH due AS (
			SELECT n.id, n.delivery_id, n.attempt_count, n.attempt_owner, n.attempt_began
			FROM   unnest((SELECT $1::text[])) AS i (delivery_id)
			JOIN   notification n USING (delivery_id)
			WHERE  n.status = ANY ((SELECT CASE WHEN $2 THEN ARRAY ['PENDING'] ELSE ARRAY ['PENDING', 'FAILED'] END)::text[])
			AND    NOT n.receipt_failed
			AND    (n.attempt_until IS NULL OR n.attempt_until <= now())
			AND    (NOT (SELECT $2::boolean) OR (n.attempt_count = 0 AND NOT ` + db.Retried + `))
			AND    ((SELECT $8::boolean) OR n.strategy <> 'AGGREGATE' AND NOT ` + db.Waits + `)
			ORDER BY n.id
			FOR UPDATE OF n
		), lost AS (
			INSERT INTO delivery_attempt (delivery_id, attempt, started_at, ended_at, outcome)
			SELECT delivery_id, attempt_count, attempt_began, clock_timestamp(), 'LOST'
			FROM   due
			WHERE  attempt_owner IS NOT NULL
			ON CONFLICT (delivery_id, attempt) DO UPDATE
			SET    started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = 'LOST', provider_status = NULL, detail = NULL,
			       took = NULL
		), begun AS (
			UPDATE notification n
			SET    attempt_count = n.attempt_count + CASE WHEN n.attempt_count > $6 AND d.attempt_owner IS NULL
			       AND ` + uncounted + ` THEN 0 ELSE 1 END,
			       attempt_owner = $3,
			       attempt_until = clock_timestamp() + $4,
			       attempt_began = clock_timestamp(),
			       operator_time = nullif(n.operator_time, 'LATER')
			FROM   due d
			WHERE  n.id = d.id
			RETURNING n.*, d.attempt_count AS counted, (d.attempt_owner IS NOT NULL)::int AS lost
		)
		SELECT n.status,
		       n.attempt_count AS number,
		       n.attempt_owner AS owner,
		       n.counted,
		       n.attempt_count - $6 AS begun,
		       coalesce(t.ended, 0) AS ended,
		       coalesce(t.crashed + n.lost, 0) AS crashed,
		       coalesce(t.rejected, '0') AS rejected,
		       coalesce(t.outage, '0') AS outage,
		       coalesce(t.tied, 0) AS tied,
		       coalesce(t.tied_for, '0') AS tied_for,
		       n.created_at <= now() - interval '1 minute' OR n.send_after IS NOT NULL OR n.strategy = 'AGGREGATE'
		           OR coalesce(n.expires_at <= now(), false) OR ` + db.Erased + ` OR ` + db.Withdrawal + ` IS NOT NULL AS evaluated,
		       CASE WHEN ` + planner.HasCap + ` THEN n.channel ELSE '' END AS capped,
		       n.expires_at AS expires,
		       least(n.expires_at - clock_timestamp(), '100 years') AS time_left, -- Go has no longer duration
		       ` + messageFacts + `
		` + messageOf + `
		LEFT JOIN LATERAL (
			SELECT tried.*
			FROM  (SELECT count(*) FILTER (WHERE a.outcome IN ('REFUSED', 'UNAVAILABLE', 'AMBIGUOUS')
			       OR a.outcome IN (` + outages + `) AND a.started_at >= a.outage + $7) AS ended,
			              count(*) FILTER (WHERE a.outcome = 'LOST') AS crashed,
			              now() - min(a.started_at) FILTER (WHERE a.outcome = 'ACCOUNT') AS rejected,
			              now() - min(a.outage) AS outage,
			              count(*) FILTER (WHERE a.started_at >= a.tied) AS tied,
			              now() - min(a.tied) AS tied_for
			       FROM   (SELECT a.*,
			                      min(a.started_at) FILTER (WHERE a.outcome IN (` + outages + `)) OVER () AS outage,
			                      min(a.started_at) FILTER (WHERE a.outcome = 'AMBIGUOUS') OVER () AS tied
			               FROM   delivery_attempt a
			               WHERE  a.delivery_id = n.delivery_id
			               AND    a.attempt > $6) a) AS tried
			WHERE  n.counted > $6 -- a first attempt reads none
		) t ON true`
)

// lease is a row of beginAttempts.
type lease struct {
	Status    notification.Status
	Number    int
	Owner     string
	Counted   int
	Evaluated bool                 // the rules evaluate the delivery again
	Capped    notification.Channel // whose caps may limit the delivery; empty: none
	Expires   *time.Time
	TimeLeft  *time.Duration // until Expires
	Problem   string
	notification.Tried
	notification.Message
}

// attempt returns the attempt of a lease, which was asked for at a time.
func (l lease) attempt(asked time.Time) notification.Attempt {
	a := notification.Attempt{
		Status: l.Status, Number: l.Number, Owner: l.Owner, Counted: l.Counted, Tried: l.Tried, Message: l.Message, Problem: l.Problem,
	}
	a.Message.Reason = reason.OfMessage(l.Message).Sentence(l.Locale)
	if l.Expires != nil {
		a.Message.ExpiresAt, a.Message.SendBy = *l.Expires, asked.Add(*l.TimeLeft)
	}
	return a
}

// takeLeases begins the deliveries that are due. It returns the ids of the deliveries to evaluate, and
// the channels of the deliveries that a cap may limit.
func (s Store) takeLeases(
	ctx context.Context, in notification.Begin, begun attempts,
) (toEvaluate []string, toCount map[string]notification.Channel, err error) {
	toCount = map[string]notification.Channel{}
	asked := time.Now() // before the database reads its clock, so that no message is sent late
	leases, err := db.Collect(ctx, s.Pool, "take leases", db.ByName[lease](), beginAttempts,
		in.DeliveryIDs, in.First, in.Owner, in.Lease, db.MaxDevices, in.Before, in.Outage, in.DigestID != "")
	for _, l := range leases {
		id := l.DeliveryID
		if begun[id] = l.attempt(asked); l.Evaluated {
			toEvaluate = append(toEvaluate, id)
		}
		if l.Capped != "" {
			toCount[id] = l.Capped
		}
	}
	return toEvaluate, toCount, err
}

const (
	// messageFacts are the columns of a [notification.Message], except what the lease says; $5 limits
	// its devices.
	messageFacts = `
		       n.id AS notification_id,
		       n.delivery_id,
		       n.event_id,
		       n.event_type,
		       coalesce(n.correlation_id, '') AS correlation_id,
		       n.user_type,
		       n.user_id,
		       coalesce(r.name, '') AS name,
		       coalesce(n.recipient_address, '') AS "to",
		       coalesce(n.title, '') AS title,
		       coalesce(n.body, '') AS body,
		       coalesce(n.url, '') AS url,
		       n.created_at,
		       CASE WHEN n.body IS NULL THEN n.last_error ELSE '' END AS problem,
		       CASE WHEN n.channel = 'PUSH' THEN ARRAY (
		           SELECT d.token
		           FROM   ` + db.DirectoryDevice + ` d
		           WHERE  d.user_type = n.user_type AND d.user_id = n.user_id AND d.active
		           GROUP BY d.token
		           ORDER BY max(d.registered_at) DESC NULLS LAST, d.token
		           LIMIT  $5) END AS devices,
		       CASE WHEN n.channel = 'PUSH' THEN coalesce(p.push_kind, '') ELSE '' END AS push_kind,
		       coalesce(u.audience, '') AS audience,
		       coalesce(g.category, '') AS category,
		       coalesce(NOT p.mandatory, false) AS optional,
		       n.operator_time IS NOT DISTINCT FROM 'NOW' AS ordered,
		       coalesce(n.collapse_key, '') AS collapse_key,
		       coalesce(n.entity_type, '') AS entity_type,
		       coalesce(n.entity_id, '') AS entity_id,
		       ` + db.EntityName + ` AS entity_name,
		       coalesce(n.member_role, '') AS member_role,
		       coalesce(r.locale, '') AS locale,
		       coalesce(n.provider, '') AS provider,
		       n.priority`
	// messageOf joins the tables that messageFacts reads to the begun deliveries n.
	messageOf = `FROM   begun n
		LEFT JOIN user_type u USING (user_type)
		` + db.RecipientOf + `
		LEFT JOIN event_type_channel_routing p ON (p.event_type, p.channel_type) = (n.event_type, n.channel)
		LEFT JOIN event_category g ON g.event_type = n.event_type`
)
