package postgres

import "context"

// CountDeliveries counts the deliveries of each ten minutes into delivery_count, from two hours
// before the last count, but of the last six hours at most. A receipt that comes later changes no
// count. Repeating it is safe.
func (s *Store) CountDeliveries(ctx context.Context) error {
	const query = `
		WITH counted AS (
			SELECT date_bin('10 minutes', greatest(coalesce(max(since), now()) - interval '2 hours', now() - interval '6 hours'), 'epoch') AS start
			FROM   delivery_count
		), fresh AS (
			SELECT date_bin('10 minutes', created_at, 'epoch') AS since, channel, status, count(*) AS count
			FROM   notification
			WHERE  created_at >= (SELECT start FROM counted)
			GROUP BY 1, 2, 3
		), removed AS (
			DELETE FROM delivery_count c
			WHERE  c.since < now() - interval '8 days'
			OR     c.since >= (SELECT start FROM counted)
			AND    NOT EXISTS (SELECT FROM fresh f WHERE (f.since, f.channel, f.status) = (c.since, c.channel, c.status))
		)
		INSERT INTO delivery_count AS c (since, channel, status, count)
		SELECT since, channel, status, count
		FROM   fresh
		ON CONFLICT (since, channel, status) DO UPDATE SET count = excluded.count
		WHERE  c.count <> excluded.count`

	return s.Exec(ctx, "count deliveries", query)
}
