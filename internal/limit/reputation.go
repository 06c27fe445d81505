package limit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// # Overview
//
// The sweep counts recipients, not messages: who got ten messages and reported two counts once. It
// counts from receipts, so no attempt and no gateway does more for it.
//
// To count distinct recipients over seven days, sender_count keeps for each day and sender the smallest
// hashes of the recipients, up to sampleSize. Such samples can be merged, over days and with the same
// receipts once more, and nobody counts twice. Up to sampleSize recipients a sample is exact. Beyond, its
// largest hash tells how densely hashes lie, and so how many there are.

// sampleSize limits the hashes of a sample. The error of 4,096 is about 2 %.
const sampleSize = 4096

// receiptPage is the number of receipts that one statement counts. Receipts that came at the same
// moment are counted together.
const receiptPage = 20_000

// CountReceipts counts a page of the receipts that came after a time into sender_count; nil: it begins now,
// because the deliveries of earlier versions have no sender. It returns the time up to which all receipts
// are counted. It leaves out the last minute, in which a transaction may still store receipts, and the end of an
// attempt may not be recorded. Counting a receipt twice changes nothing.
func (s Store) CountReceipts(ctx context.Context, after *time.Time) (to time.Time, more bool, err error) {
	const page = `
		WITH span AS (
			SELECT coalesce(@after::timestamptz, now() - interval '1 minute') AS after, now() - interval '1 minute' AS last
		)
		SELECT greatest(s.after, least(s.last, r.received_at)) AS "to", coalesce(r.received_at < s.last, false) AS more
		FROM   span s
		LEFT JOIN LATERAL (
		           SELECT received_at
		           FROM   delivery_receipt
		           WHERE  received_at > s.after
		           ORDER BY received_at
		           OFFSET @page
		           LIMIT  1) r ON true`
	type bounds struct {
		To   time.Time
		More bool
	}
	found, err := db.One(ctx, s.Pool, "find receipts to count", db.ByName[bounds](), page, pgx.NamedArgs{"after": after, "page": receiptPage})
	if err != nil || after == nil {
		return found.To, false, err
	}
	err = s.Exec(ctx, "count receipts", countReceipts, pgx.NamedArgs{"after": after, "to": found.To, "size": sampleSize})
	return found.To, found.More, err
}

// countReceipts merges the recipients of receipts into the samples of the days on which the messages were
// sent. A receipt counts for the provider and sender that had the delivery last. A receipt that does not tell
// if the message arrived counts nothing, except for SMS: many networks never tell.
const countReceipts = `
		WITH fresh AS MATERIALIZED (
			SELECT DISTINCT n.channel, n.provider, n.sender, n.since, k.kind, n.hash
			FROM   delivery_receipt r
			CROSS JOIN LATERAL (
			           SELECT m.*
			           FROM  ((SELECT d.* FROM notification d WHERE d.delivery_id = r.delivery_id)
			                  UNION ALL
			                  (SELECT i.* FROM notification i WHERE i.digest_id = r.delivery_id LIMIT 1)) m
			           LIMIT  1) d
			CROSS JOIN LATERAL (
			           SELECT sender
			           FROM   delivery_attempt
			           WHERE  delivery_id = d.delivery_id
			           AND    sender IS NOT NULL
			           ORDER BY attempt DESC
			           LIMIT  1) a
			LEFT JOIN sender_state s ON (s.channel, s.provider, s.sender) = (d.channel, d.provider, a.sender)
			CROSS JOIN LATERAL (
			           SELECT d.channel, d.provider, a.sender,
			                  CASE WHEN d.sent_at >= s.resumed_at THEN greatest(date_trunc('day', d.sent_at, 'UTC'), s.resumed_at)
			                       ELSE date_trunc('day', d.sent_at, 'UTC') END AS since,
			                  hashtextextended(d.user_type || '/' || d.user_id, 0) AS hash) n
			CROSS JOIN LATERAL unnest(ARRAY ['RECIPIENT', r.harm]) AS k (kind)
			WHERE  r.received_at > @after
			AND    r.received_at <= @to
			AND    (r.outcome IS NOT NULL OR r.harm IS NOT NULL OR d.channel = 'SMS')
			AND    r.provider = d.provider
			AND    d.sent_at > now() - interval '7 days'
			AND    k.kind IS NOT NULL
		), old AS (
			DELETE FROM sender_count
			WHERE  since < now() - interval '8 days'
		)
		INSERT INTO sender_count (channel, provider, sender, since, kind, recipients)
		SELECT channel, provider, sender, since, kind, ARRAY (
		           SELECT f.hash
		           FROM   fresh f
		           WHERE  (f.channel, f.provider, f.sender, f.since, f.kind) = (g.channel, g.provider, g.sender, g.since, g.kind)
		           UNION
		           SELECT unnest(c.recipients)
		           FROM   sender_count c
		           WHERE  (c.channel, c.provider, c.sender, c.since, c.kind) = (g.channel, g.provider, g.sender, g.since, g.kind)
		           ORDER BY 1
		           LIMIT  @size)
		FROM  (SELECT DISTINCT channel, provider, sender, since, kind FROM fresh) g
		ON CONFLICT (channel, provider, sender, since, kind) DO UPDATE
		SET    recipients = excluded.recipients`

// JudgeSenders stores what was counted since midnight seven days ago, in UTC, and pauses the optional messages
// of senders that exceed a limit. It leaves out paused senders. What was sent before a resume counts no more.
func (s Store) JudgeSenders(ctx context.Context) error {
	const figures = `
		WITH hashes AS (
			SELECT DISTINCT c.channel, c.provider, c.sender, c.kind, h.hash
			FROM   sender_count c
			LEFT JOIN sender_state s USING (channel, provider, sender)
			CROSS JOIN LATERAL unnest(c.recipients) AS h (hash)
			WHERE  c.since >= date_trunc('day', now() - interval '7 days', 'UTC')
			AND    c.since >= coalesce(s.resumed_at, '-infinity')
		), ranked AS (
			SELECT *, row_number() OVER (PARTITION BY channel, provider, sender, kind ORDER BY hash) AS place
			FROM   hashes
		), counts AS (
			SELECT channel, provider, sender, kind,
			       CASE WHEN count(*) < @size THEN count(*)
			            ELSE ((@size - 1) / ((max(hash) + 9223372036854775808.0) / 18446744073709551616.0))::bigint END AS n
			FROM   ranked
			WHERE  place <= @size
			GROUP BY channel, provider, sender, kind
		)
		SELECT channel, provider, sender, s.resumed_at,
		       coalesce(max(n) FILTER (WHERE kind = 'RECIPIENT'), 0) AS recipients,
		       coalesce(max(n) FILTER (WHERE kind = 'COMPLAINT'), 0) AS complaints,
		       coalesce(max(n) FILTER (WHERE kind = 'BOUNCE'), 0) AS bounces,
		       coalesce(max(n) FILTER (WHERE kind = 'BLOCK'), 0) AS blocks
		FROM   sender_state s
		FULL JOIN counts USING (channel, provider, sender)
		WHERE  s.paused_at IS NULL
		GROUP BY channel, provider, sender, s.resumed_at
		ORDER BY channel, provider, sender
		LIMIT  1000`
	const store = `
		INSERT INTO sender_state AS s (channel, provider, sender, recipients, complaints, bounces, blocks, paused_at)
		SELECT @channel, @provider, @sender, @recipients, @complaints, @bounces, @blocks, CASE WHEN @pause THEN now() END
		ON CONFLICT (channel, provider, sender) DO UPDATE
		SET    recipients = excluded.recipients,
		       complaints = excluded.complaints,
		       bounces    = excluded.bounces,
		       blocks     = excluded.blocks,
		       counted_at = now(),
		       paused_at  = excluded.paused_at
		WHERE  s.paused_at IS NULL
		AND    s.resumed_at IS NOT DISTINCT FROM @resumed_at -- an operator may have resumed it meanwhile`

	found, err := db.Collect(ctx, s.Pool, "count what receipts say", pgx.RowToStructByNameLax[notification.SenderState], figures,
		pgx.NamedArgs{"size": sampleSize})
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, f := range found {
		batch.Queue(store, pgx.NamedArgs{
			"channel": f.Channel, "provider": f.Provider, "sender": f.Sender, "recipients": f.Recipients, "complaints": f.Complaints,
			"bounces": f.Bounces, "blocks": f.Blocks, "pause": f.ExceedsLimit(), "resumed_at": f.ResumedAt,
		})
	}
	if batch.Len() == 0 {
		return nil
	}
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "judge senders")
}
