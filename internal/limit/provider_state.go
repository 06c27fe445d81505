package limit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// ProviderStates reads the providers whose circuit was open, or that an operator has paused or chosen.
func (s Store) ProviderStates(ctx context.Context) ([]notification.ProviderState, error) {
	const query = `
		SELECT provider,
		       rests,
		       coalesce(rests_until - clock_timestamp(), '0') AS rests_for,
		       rests_until,
		       coalesce(failure, '') AS failure,
		       coalesce(override, '') AS override,
		       coalesce(override_by, '') AS by,
		       coalesce(override_reason, '') AS reason
		FROM   provider_state
		ORDER  BY provider
		LIMIT  100`
	return db.Collect(ctx, s.Pool, "read provider_state", db.ByName[notification.ProviderState](), query)
}

// OpenCircuit opens the circuit of a provider: for first, then each time for twice as long, up to longest.
// It does not change a circuit that is open already, unless its probe failed.
func (s Store) OpenCircuit(ctx context.Context, provider, failure string, first, longest time.Duration, probed bool) error {
	const query = `
		INSERT INTO provider_state AS s (provider, rests, rests_until, failure)
		VALUES ($1, 1, clock_timestamp() + $3::interval, left($2, 500))
		ON CONFLICT (provider) DO UPDATE
		SET    rests       = s.rests + 1,
		       rests_until = clock_timestamp() + least($3::interval * 2 ^ least(s.rests, 20), $4::interval),
		       failure     = excluded.failure,
		       changed_at  = now()
		WHERE  s.rests = 0
		OR     $5`

	return s.Exec(ctx, "open a circuit", query, provider, failure, first, longest, probed)
}

// ClaimProbe reports whether this process may send the message that tries a provider whose
// circuit was open. If the process dies, another process may send one after the lease.
func (s Store) ClaimProbe(ctx context.Context, provider string, lease time.Duration) (bool, error) {
	const query = `
		UPDATE provider_state
		SET    rests_until = clock_timestamp() + $2::interval
		WHERE  provider = $1
		AND    rests_until <= clock_timestamp()`
	changed, err := s.Pool.Exec(ctx, query, provider, lease)
	return changed.RowsAffected() == 1, db.Wrap(err, "claim a probe")
}

// CloseCircuit closes a provider's circuit after a probe.
func (s Store) CloseCircuit(ctx context.Context, provider string) error {
	const query = `
		UPDATE provider_state
		SET    rests = 0, rests_until = NULL, changed_at = now()
		WHERE  provider = $1
		AND    rests > 0`

	return s.Exec(ctx, "close a circuit", query, provider)
}

// OverrideProvider stores an operator's order about a provider. An empty override removes the order,
// and closes the provider's circuit. Only one provider of a channel is USED, so it removes the order USED
// from the others.
func (s Store) OverrideProvider(
	ctx context.Context, provider string, others []string, override notification.ProviderOverride, by, reason string,
) error {
	const query = `
		INSERT INTO provider_state AS s (provider, override, override_by, override_reason)
		VALUES ($1, nullif($2, ''), CASE WHEN $2 <> '' THEN $3 END, CASE WHEN $2 <> '' THEN nullif($4, '') END)
		ON CONFLICT (provider) DO UPDATE
		SET    override        = excluded.override,
		       override_by     = excluded.override_by,
		       override_reason = excluded.override_reason,
		       rests           = CASE WHEN $2 = '' THEN 0 ELSE s.rests END,
		       rests_until     = CASE WHEN $2 = '' THEN NULL ELSE s.rests_until END,
		       changed_at      = now()`
	const unuse = `
		UPDATE provider_state
		SET    override = NULL, override_by = NULL, override_reason = NULL, changed_at = now()
		WHERE  provider = ANY ($1)
		AND    override = 'USED'`
	batch := &pgx.Batch{}
	batch.Queue(query, provider, override, by, reason)
	if override == notification.ProviderUsed {
		batch.Queue(unuse, others)
	}
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "override a provider")
}
