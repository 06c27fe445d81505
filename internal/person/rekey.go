package person

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/address"
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/suppression"
)

// rekeyPage is the number of recipients, or notifications, that one page of a rekey reads.
const rekeyPage = 2000

// Rekeying is the progress of moving suppressions to a new secret.
type Rekeying struct {
	Recipients    int  `json:"recipients"`    // read so far
	Notifications int  `json:"notifications"` // read so far, for addresses that the directory lacks
	Moved         int  `json:"moved"`         // suppressions moved to the new secret; in a dry run, suppressions to move
	Remaining     int  `json:"left"`          // suppressions that are still under the previous secret
	Retired       bool `json:"retired"`       // nothing needs the previous secret any more
}

// Rekey moves suppressions from the previous secret to the present one: first by the
// addresses of the directory, then by the addresses of notifications. It moves a page at a
// time, so it can be interrupted and repeated. A dry run counts. Rekey calls progress after
// each page.
func (s Store) Rekey(ctx context.Context, dryRun bool, progress func(Rekeying)) (Rekeying, error) {
	var done Rekeying
	if !dryRun {
		if err := s.beginRekey(ctx); err != nil {
			return done, err
		}
	}
	seen := map[string]bool{}
	move := func(found []addressed) error {
		moved, err := s.rekeyPage(ctx, found, dryRun, seen)
		done.Moved += moved
		progress(done)
		return err
	}
	err := s.eachDirectoryPage(ctx, func(people int, found []addressed) error {
		done.Recipients += people
		return move(found)
	})
	if err == nil {
		done.Remaining, err = s.underPrevious(ctx, len(seen))
	}
	if err == nil && done.Remaining > 0 {
		err = s.eachNotificationPage(ctx, func(rows int, found []addressed) error {
			done.Notifications += rows
			return move(found)
		})
		if err == nil {
			done.Remaining, err = s.underPrevious(ctx, len(seen))
		}
	}
	if err == nil && done.Remaining == 0 && !dryRun {
		done.Retired, err = s.retirePrevious(ctx)
	}
	return done, err
}

// beginRekey prevents the start of processes that know only the previous secret.
func (s Store) beginRekey(ctx context.Context) error {
	const query = `
		UPDATE herald_secret
		SET    rekeyed_at = coalesce(rekeyed_at, now())
		WHERE  superseded_at IS NOT NULL`

	return s.Exec(ctx, "begin to move suppressions", query)
}

// addressed is an address of a channel.
type addressed struct {
	channel notification.Channel
	address string
}

// eachDirectoryPage calls do for each page of recipients, with their addresses.
func (s Store) eachDirectoryPage(ctx context.Context, do func(people int, found []addressed) error) error {
	const query = `
		SELECT r.user_type, r.user_id, ` + planner.AddressFacts + `
		FROM   ` + db.DirectoryRecipient + ` r
		WHERE  (r.user_type, r.user_id) > ($1, $2)
		ORDER BY r.user_type, r.user_id
		LIMIT  $3`

	var userType, userID string
	var r notification.Recipient
	return s.eachPage(ctx, query, []any{&userType, &userID}, []any{&r.Email, &r.Phone, &r.SlackWebhookURL, &r.WebhookURL}, func() []addressed {
		var found []addressed
		for _, channel := range notification.Channels() {
			found = append(found, addressed{channel, r.Address(channel)})
		}
		return found
	}, do)
}

// eachNotificationPage calls do for each page of notifications, with their addresses.
func (s Store) eachNotificationPage(ctx context.Context, do func(rows int, found []addressed) error) error {
	const query = `
		SELECT id, channel, coalesce(recipient_address, '')
		FROM   notification
		WHERE  id > $1
		ORDER BY id
		LIMIT  $2`

	var last int64
	var one addressed
	return s.eachPage(ctx, query, []any{&last}, []any{&one.channel, &one.address}, func() []addressed { return []addressed{one} }, do)
}

// eachPage runs a query page by page, and calls do with the addresses of each page. The
// query reads the rows after key. The columns of key come first, then others.
func (s Store) eachPage(
	ctx context.Context, query string, key, others []any, addresses func() []addressed, do func(rows int, found []addressed) error,
) error {
	for {
		rows, _ := s.Pool.Query(ctx, query, slices.Concat(key, []any{rekeyPage})...) // ForEachRow returns its error
		var found []addressed
		read, err := pgx.ForEachRow(rows, slices.Concat(key, others), func() error {
			found = append(found, addresses()...)
			return nil
		})
		if err != nil {
			return db.Wrap(err, "read addresses")
		}
		count := int(read.RowsAffected())
		if err := do(count, found); err != nil || count < rekeyPage {
			return err
		}
	}
}

// rekeyPage moves the suppressions of some addresses, and returns their number. A dry run
// counts each suppression once, with the help of seen.
func (s Store) rekeyPage(ctx context.Context, found []addressed, dryRun bool, seen map[string]bool) (moved int, err error) {
	channels, before, after := s.hashPairs(found)
	if len(before) == 0 {
		return 0, nil
	}
	if dryRun {
		return s.countPage(ctx, channels, before, seen)
	}
	const lock = "SELECT pg_advisory_xact_lock(" + suppression.RekeyLock + ")"
	const query = `
		WITH gone AS (
			DELETE FROM recipient_suppression s
			USING  unnest($1::text[], $2::bytea[], $3::bytea[]) AS p (channel, before, after)
			WHERE  s.channel = p.channel
			AND    s.address_hash = p.before
			AND    s.secret IS DISTINCT FROM $4
			RETURNING s.channel, p.after, s.reason, s.detail, s.since
		)
		INSERT INTO recipient_suppression AS s (channel, address_hash, reason, detail, since, secret)
		SELECT channel, after, reason, detail, since, $4
		FROM   gone
		ORDER BY channel, after, reason
		ON CONFLICT (channel, address_hash, reason) DO UPDATE
		SET    detail = CASE WHEN excluded.since < s.since THEN excluded.detail ELSE s.detail END,
		       since  = least(excluded.since, s.since),
		       secret = excluded.secret`

	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lock); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, query, channels, before, after, s.Fingerprint)
		moved = int(tag.RowsAffected())
		return err
	})
	return moved, db.Wrap(err, "move suppressions")
}

func (s Store) countPage(ctx context.Context, channels []string, before [][]byte, seen map[string]bool) (int, error) {
	const query = `
		SELECT s.channel || ' ' || s.reason || ' ' || encode(s.address_hash, 'hex')
		FROM   recipient_suppression s
		JOIN   unnest($1::text[], $2::bytea[]) AS p (channel, before) ON s.channel = p.channel AND s.address_hash = p.before
		WHERE  s.secret IS DISTINCT FROM $3
		AND    NOT s.twin`

	rows, err := db.Collect(ctx, s.Pool, "count suppressions", pgx.RowTo[string], query, channels, before, s.Fingerprint)
	counted := len(seen)
	for _, row := range rows {
		seen[row] = true
	}
	return len(seen) - counted, err
}

// hashPairs returns the hashes of addresses under the previous secret and under the present
// secret, each address once.
func (s Store) hashPairs(found []addressed) (channels []string, before, after [][]byte) {
	known := map[addressed]bool{}
	for _, one := range found {
		one.address = address.Key(one.channel, one.address)
		if one.address == "" || known[one] {
			continue
		}
		known[one] = true
		channels = append(channels, string(one.channel))
		before, after = append(before, s.PreviousKey.Hash(one.address)), append(after, s.AddressHash(one.address))
	}
	return channels, before, after
}

// underPrevious counts the suppressions that are not under the present secret, except `seen` ones that
// a dry run counted.
func (s Store) underPrevious(ctx context.Context, seen int) (int, error) {
	const query = `
		SELECT count(*) - $2
		FROM   recipient_suppression
		WHERE  secret IS DISTINCT FROM $1
		AND    NOT twin`

	return db.One(ctx, s.Pool, "count suppressions", pgx.RowTo[int], query, s.Fingerprint, seen)
}

// foreignKeyViolation means that a suppression still needs the secret that was to be deleted.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const foreignKeyViolation = "23503"

// retirePrevious forgets the previous secret, unless a suppression needs it. A suppression
// that came in the meantime keeps the secret until Rekey runs again.
func (s Store) retirePrevious(ctx context.Context) (bool, error) {
	const twins = `
		DELETE FROM recipient_suppression
		WHERE  twin`
	const query = `
		DELETE FROM herald_secret
		WHERE  superseded_at IS NOT NULL
		AND    NOT EXISTS (SELECT FROM recipient_suppression WHERE secret IS DISTINCT FROM $1)`

	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, twins)
		if err == nil {
			_, err = tx.Exec(ctx, query, s.Fingerprint)
		}
		return err
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == foreignKeyViolation {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("retire the previous secret: %w", err)
	}
	known, err := db.ReadSecrets(ctx, s.Pool)
	return len(known) == 1, err
}
