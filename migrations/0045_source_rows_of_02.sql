-- +goose Up
-- This reads whole tables, so it locks none against writers.
-- What release 0.2 kept about rows that failed, or that their topic refused, is in event_outbox. Its columns sink_attempts and row_failed_at stay
-- until no worker of that release runs. An index holds just these rows.
INSERT INTO source_row (source, row_key, event_id, refusals, next_attempt_at, error, failed_at, marked_at)
SELECT o.source,
       CASE WHEN left(o.event_id, length(o.source) + 1) = o.source || '-' THEN regexp_replace(substr(o.event_id, length(o.source) + 2), '~[a-z0-9-]+$', '')
            ELSE regexp_replace(o.event_id, '~[a-z0-9-]+$', '') END,
       o.event_id,
       o.sink_attempts,
       CASE WHEN o.status = 'PENDING' THEN o.lease_until END,
       coalesce(o.error_message, CASE WHEN o.status <> 'PENDING' AND p.status = 'FAILED' THEN 'its workflow was cancelled, or failed' END),
       CASE WHEN o.status = 'FAILED' OR (o.status = 'PROCESSED' AND p.status = 'FAILED') THEN coalesce(o.row_failed_at, now()) END,
       CASE WHEN o.status = 'FAILED' AND o.error_message <> 'cancelled by an operator' THEN coalesce(o.row_failed_at, now()) ELSE o.row_failed_at END
FROM   event_outbox o
LEFT JOIN processed_event p USING (event_id)
WHERE  o.source <> 'herald'
AND    o.acknowledged_at IS NULL
AND    (o.status = 'FAILED' OR (o.status = 'PROCESSED' AND p.status = 'FAILED') OR o.sink_attempts > 0)
ON CONFLICT DO NOTHING;

-- Where Herald's own outbox had a topic, its walk begins at the oldest event that is open.
INSERT INTO source_start (source, seq)
SELECT 'herald', min(o.seq) - 1
FROM   event_outbox o
LEFT JOIN processed_event p USING (event_id)
WHERE  o.source = 'herald'
AND    o.acknowledged_at IS NULL
AND    (o.status = 'PENDING' OR p.status = 'PROCESSING')
AND    EXISTS (SELECT FROM event_outbox t WHERE t.source = 'herald' AND t.acknowledged_at IS NOT NULL)
HAVING count(*) > 0
ON CONFLICT DO NOTHING;

UPDATE event_outbox o
SET    produced_at = o.acknowledged_at
FROM   source_start s
WHERE  o.source = 'herald'
AND    o.seq > s.seq
AND    o.acknowledged_at IS NOT NULL;

-- +goose Down
SELECT 'what it wrote goes with its tables';
