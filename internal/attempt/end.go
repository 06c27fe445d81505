package attempt

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/suppression"
)

// EndAttempts records the results of attempts at deliveries, or at digests, in one
// statement. It records the attempts, ends their leases, and changes their deliveries,
// or each item of their digests. Recording a result twice changes nothing the second time.
// If the lease ran out, and somebody recorded the attempt as LOST, the result corrects
// that. A status only climbs. A sent delivery stays sent, even if it was cancelled while
// the provider accepted it. A delivery that was acknowledged earlier stays DELIVERED. An
// earlier receipt also stays. A delivery that is given up, and was not cancelled meanwhile,
// becomes FAILED. The follow-up worker then tells the queue of dead letters, except on
// best-effort channels.
//
// In the same transaction it suppresses addresses if a provider says so. Then it switches off devices that
// proved dead. If a device cannot be switched off, the attempt and the result tell so. That is not
// an error: the directory may be an application's views.
//
// It returns one record per result, in their order.
func (s Store) EndAttempts(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	recorded := make([]notification.RecordedAttempt, len(results))
	end := func(on db.Querier) error {
		var i int
		var status notification.Status
		var age, waited time.Duration
		return db.Each(ctx, on, "end attempt", []any{&i, &status, &age, &waited}, func() {
			recorded[i].Age, recorded[i].Waited = max(recorded[i].Age, age), waited
			if results[i].DigestID == "" {
				recorded[i].Status = status
			}
		}, endAttempts, endingArgs(results)...)
	}
	if err := s.endAndSuppress(ctx, results, end); err != nil {
		return nil, err
	}
	s.switchDevicesOff(ctx, results, recorded)
	return recorded, nil
}

// endAndSuppress ends attempts, and suppresses the addresses of the results that ask for it in the same
// transaction. So no crash can lose an opt-out.
func (s Store) endAndSuppress(ctx context.Context, results []notification.AttemptResult, end func(on db.Querier) error) error {
	suppresses := func(r notification.AttemptResult) bool { return r.Suppress != "" }
	if s.AddressHash == nil || !slices.ContainsFunc(results, suppresses) {
		return end(s.Pool)
	}
	return db.Wrap(pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := end(tx); err != nil {
			return err
		}
		return s.suppressAddressees(ctx, tx, results)
	}), "end attempt")
}

// endAttempts ends attempts. It locks rows by id, as every statement that locks several
// rows does. The planner cannot see the number of results, so it keeps its plan: planning
// takes as long as ending an attempt. An attempt without a lease was recorded as lost. The
// provider's words about a person who was erased are not stored.
//
// In item, mine means that the attempt still has its lease, and open that the result may change the
// delivery: it is PENDING or FAILED, or it is CANCELLED or DELIVERED and the provider accepted the message.
const endAttempts = `
		WITH item AS (
			SELECT i.*, CASE WHEN i.words = '' THEN NULL WHEN ` + db.Erased + ` THEN '` + db.ErasedText + `' ELSE i.words END AS detail,
			       n.id, n.status, n.receipt_failed, n.attempt_began, n.attempt_owner IS NOT DISTINCT FROM i.owner AS mine,
			       n.status IN ('PENDING', 'FAILED') OR (n.status IN ('CANCELLED', 'DELIVERED') AND i.outcome = 'SENT') AS open
			FROM   unnest((SELECT $1::int[]), $2::text[], $3::int[], $4::text[], $5::int[], $6::text[], $7::text[], $8::text[], $9::interval[],
			       $10::boolean[], $12::text[], $13::timestamptz[], $14::text[], $15::text[])
			           AS i (result, delivery_id, attempt, outcome, provider_status, provider_id, words, digest_id, took, give_up, owner, next,
			               provider, sender)
			JOIN   notification n USING (delivery_id)
			ORDER BY n.id
			FOR UPDATE OF n
		), written AS (
			INSERT INTO delivery_attempt (delivery_id, attempt, started_at, ended_at, outcome, provider_status, detail, took, sender)
			SELECT delivery_id, attempt, attempt_began, clock_timestamp(), outcome, nullif(provider_status, 0), detail, nullif(took, '0'),
			       nullif(sender, '')
			FROM   item
			WHERE  mine
			ON CONFLICT (delivery_id, attempt) DO UPDATE -- reuses the row of an attempt that found our account rejected
			SET    started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
			       provider_status = excluded.provider_status, detail = excluded.detail, took = excluded.took, sender = excluded.sender
		), corrected AS (
			UPDATE delivery_attempt a
			SET    ended_at        = now(),
			       outcome         = i.outcome,
			       provider_status = nullif(i.provider_status, 0),
			       detail          = i.detail,
			       took            = nullif(i.took, '0'),
			       sender          = nullif(i.sender, '')
			FROM   item i
			WHERE  NOT i.mine
			AND    a.delivery_id = i.delivery_id
			AND    a.attempt = i.attempt
			AND    a.outcome = 'LOST'
			RETURNING i.id
		), recorded AS (
			UPDATE notification n
			SET    attempt_owner       = CASE WHEN NOT e.mine THEN n.attempt_owner END,
			       attempt_until       = CASE WHEN NOT e.mine THEN n.attempt_until END,
			       attempt_began       = CASE WHEN NOT e.mine THEN n.attempt_began END,
			       next_attempt_at     = CASE WHEN e.outcome <> 'SENT' AND ` + movedMeanwhile + ` THEN n.next_attempt_at ELSE e.next END,
			       status              = CASE WHEN e.outcome = 'SENT' AND e.open AND n.status <> 'DELIVERED' AND NOT n.receipt_failed THEN 'SENT'
			                                  WHEN e.outcome <> 'SENT' AND e.open AND e.give_up THEN 'FAILED'
			                                  ELSE n.status END,
			       sent_at             = CASE WHEN e.outcome = 'SENT' AND e.open AND n.status <> 'DELIVERED' AND NOT n.receipt_failed THEN now()
			           ELSE n.sent_at END,
			       available_at        = CASE WHEN e.open THEN coalesce(n.available_at, now()) ELSE n.available_at END,
			       provider            = CASE WHEN e.open AND e.outcome IN ('SENT', 'AMBIGUOUS') THEN nullif(e.provider, '') ELSE n.provider END,
			       provider_message_id = CASE WHEN e.open AND e.outcome = 'SENT' THEN nullif(e.provider_id, '') ELSE n.provider_message_id END,
			       last_error          = CASE WHEN NOT e.open OR n.receipt_failed THEN n.last_error ELSE e.detail END,
			       digest_id           = CASE WHEN e.open AND e.outcome = 'SENT' THEN coalesce(nullif(e.digest_id, ''), n.digest_id)
			           ELSE n.digest_id END
			FROM   item e
			WHERE  n.id = e.id
			AND    (e.mine OR e.id IN (SELECT id FROM corrected))
			RETURNING n.id, n.status, n.delivery_id, n.channel, e.open AND e.give_up AND e.outcome <> 'SENT' AND NOT n.receipt_failed AS given_up,
			       CASE
			    WHEN e.open AND n.status IN ('SENT', 'DELIVERED') AND n.strategy = 'IMMEDIATE' AND n.send_after IS NULL
			         AND NOT ` + db.Retried + `
			    THEN greatest(now() - (SELECT o.created_at FROM event_outbox o WHERE o.event_id = n.event_id), '0')
			    END AS age, CASE
			    WHEN n.created_at > now() - interval '1 minute' AND n.send_after IS NULL AND n.strategy = 'IMMEDIATE'
			    THEN greatest(clock_timestamp() - n.created_at, '0') END AS waited
		), dead_letters AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'DEAD_LETTER'
			FROM   recorded
			WHERE  given_up
			AND    channel <> ALL ($11)
			ORDER BY id
			RETURNING pg_notify('delivery_follow_up', '')
		)
		SELECT i.result, coalesce(r.status, i.status), coalesce(r.age, '0'), coalesce(r.waited, '0')
		FROM   item i
		LEFT JOIN recorded r USING (id)`

// endingArgs returns the arguments of endAttempts, with one element per item of each result.
func endingArgs(all []notification.AttemptResult) []any {
	var results, numbers, providerStatuses []int
	var ids, outcomes, providers, senders, providerIDs, details, digestIDs, owners []string
	var took []time.Duration
	var giveUps []bool
	var next []*time.Time // nil: unknown
	for i, r := range all {
		for _, item := range itemsOf(r) {
			results, numbers, providerStatuses = append(results, i), append(numbers, item.Attempt), append(providerStatuses, r.ProviderStatus)
			ids, outcomes, providerIDs = append(ids, item.DeliveryID), append(outcomes, string(r.Outcome)), append(providerIDs, r.ProviderID)
			details, digestIDs, owners = append(details, r.Detail), append(digestIDs, r.DigestID), append(owners, r.Owner)
			took, giveUps = append(took, r.Took), append(giveUps, r.GiveUp)
			next, providers, senders = append(next, db.Optional(r.Next)), append(providers, r.Provider), append(senders, r.Sender)
		}
	}
	return []any{
		results, ids, numbers, outcomes, providerStatuses, providerIDs, details, digestIDs, took, giveUps, bestEffort(), owners, next, providers,
		senders,
	}
}

// itemsOf returns the attempts that a result ends.
func itemsOf(result notification.AttemptResult) []notification.ItemAttempt {
	if result.DigestID != "" {
		return result.Items
	}
	return []notification.ItemAttempt{{DeliveryID: result.DeliveryID, Attempt: result.Number}}
}

// bestEffort returns the channels whose failures the queue of dead letters does not get.
func bestEffort() []notification.Channel {
	return slices.DeleteFunc(notification.Channels(), func(c notification.Channel) bool { return !c.BestEffort() })
}

// switchDevicesOff switches off the devices that proved dead, in one statement for all
// results. If that fails, the records say so.
func (s Store) switchDevicesOff(ctx context.Context, results []notification.AttemptResult, recorded []notification.RecordedAttempt) {
	var tokens, ids []string
	var numbers, concerned []int
	for i, r := range results {
		if len(r.DeadDevices) == 0 {
			continue
		}
		tokens, concerned = append(tokens, r.DeadDevices...), append(concerned, i)
		for _, item := range itemsOf(r) {
			ids, numbers = append(ids, item.DeliveryID), append(numbers, item.Attempt)
		}
	}
	if len(tokens) == 0 {
		return
	}
	problem := s.switchOff(ctx, tokens, ids, numbers)
	for _, i := range concerned {
		recorded[i].DeadTokensKept = problem
	}
}

// suppressAddressees suppresses the addresses of attempts whose results ask for it. All
// items of a digest have one address.
func (s Store) suppressAddressees(ctx context.Context, tx pgx.Tx, results []notification.AttemptResult) error {
	const query = `
		SELECT delivery_id, channel, coalesce(recipient_address, '')
		FROM   notification
		WHERE  delivery_id = ANY ($1)`

	suppressing := map[string]notification.AttemptResult{}
	for _, r := range results {
		if items := itemsOf(r); r.Suppress != "" && len(items) > 0 {
			suppressing[items[0].DeliveryID] = r
		}
	}
	var found suppression.Suppressions
	var id, address string
	var channel notification.Channel
	err := db.Each(ctx, tx, "read the addresses of attempts", []any{&id, &channel, &address}, func() {
		found.Add(s.AddressKeys(), channel, address, suppressing[id].Suppress, suppressing[id].Detail, time.Now())
	}, query, slices.Collect(maps.Keys(suppressing)))
	if err != nil || len(found) == 0 {
		return err
	}
	batch := &pgx.Batch{}
	found.Queue(batch)
	return db.Wrap(tx.SendBatch(ctx, batch).Close(), "suppress addresses")
}
