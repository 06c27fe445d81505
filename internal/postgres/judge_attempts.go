package postgres

import (
	"context"
	"slices"
	"time"

	"herald/internal/notification"
)

// judge asks the rules about deliveries whose leases were just taken, with all facts that
// may have changed since planning. A delivery that must not be sent becomes CANCELLED. That
// delivery, and a delivery that must wait, lose their leases. The rest goes to the current
// address. If the rules cannot be asked, no attempt begins.
func (s *Store) judge(ctx context.Context, in notification.Begin, ids []string, begun attempts) error {
	found, err := s.attemptFacts(ctx, ids)
	if err != nil {
		s.releaseAll(ctx, begun)
		return err
	}
	var held, moved []notification.Attempt
	for _, f := range found {
		f.SkipQuiet, f.Ordered, f.Again = in.SkipQuiet, in.Ordered, in.Again
		attempt, address := begun[f.DeliveryID], f.Recipient.Address(f.Channel)
		if attempt.Verdict = f.Judge(f.now); attempt.Held() {
			held = append(held, attempt)
		} else if address != attempt.Message.To {
			attempt.Message.To = address
			moved = append(moved, attempt)
		}
		begun[f.DeliveryID] = attempt
	}
	if err := s.settle(ctx, held, moved); err != nil {
		s.releaseAll(ctx, begun)
		return err
	}
	for _, attempt := range held {
		begun[attempt.Message.DeliveryID] = heldBack(attempt)
	}
	return nil
}

// heldBack returns the result of an attempt that lost its lease by its verdict.
func heldBack(attempt notification.Attempt) notification.Attempt {
	if attempt.Dropped != "" && attempt.Status == notification.Pending {
		attempt.Status = notification.Cancelled
	}
	return notification.Attempt{Status: attempt.Status, Verdict: attempt.Verdict}
}

// releaseTimeout limits the statement that gives leases back after judging failed.
const releaseTimeout = 2 * time.Second

// releaseAll gives back all begun attempts. A lease that it cannot give back runs out, and
// counts as LOST.
func (s *Store) releaseAll(ctx context.Context, begun attempts) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var all []notification.Attempt
	for _, attempt := range begun {
		attempt.Verdict = notification.Verdict{}
		all = append(all, attempt)
	}
	_ = s.ReleaseAttempts(ctx, all) // the caller returns the error that led here
}

// ReleaseAttempts gives back the leases of attempts that were not made, in one statement.
// They do not count. The verdict may drop a delivery, which becomes CANCELLED, or delay it
// until a time.
func (s *Store) ReleaseAttempts(ctx context.Context, attempts []notification.Attempt) error {
	return Wrap(s.settle(ctx, attempts, nil), "release attempts")
}

// settle releases attempts, and records the new addresses of attempts that continue.
func (s *Store) settle(ctx context.Context, released, moved []notification.Attempt) error {
	const query = `
		UPDATE notification n
		SET    attempt_count     = CASE WHEN r.moved THEN n.attempt_count ELSE r.counted END,
		       attempt_owner     = CASE WHEN r.moved THEN n.attempt_owner END,
		       attempt_until     = CASE WHEN r.moved THEN n.attempt_until END,
		       attempt_began     = CASE WHEN r.moved THEN n.attempt_began END,
		       recipient_address = CASE WHEN r.moved THEN nullif(r.address, '') ELSE n.recipient_address END,
		       status            = CASE WHEN r.dropped THEN 'CANCELLED' ELSE n.status END,
		       last_error        = CASE WHEN r.dropped THEN r.reason ELSE n.last_error END,
		       next_attempt_at   = coalesce(r.not_before, n.next_attempt_at),
		       send_after        = CASE WHEN n.send_after IS NOT NULL THEN coalesce(r.not_before, n.send_after) END -- a delivery that was planned for at once stays in its lane
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
		reasons, notBefore = append(reasons, a.Dropped), append(notBefore, Optional(a.NotBefore))
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := s.Pool.Exec(ctx, query, ids, owners, moves, counted, addresses, reasons, notBefore)
	return err
}
