package receipts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// RecordReceipts stores each receipt once, with its consequences: statuses,
// [notification.FollowUp]s, suppressions and preferences. It uses one transaction. So a
// repeat after an error loses nothing, and a repeat after a success changes nothing. The
// result has the order of the receipts.
//
// Receipts come in any order, and always lead to the same status: DELIVERED overrides every status
// from Herald itself, and FAILED overrides DELIVERED. If two receipts say FAILED, the reason
// comes from the earlier one, by its provider's clock. The provider's words about a person who was
// erased are not stored.
func (s Store) RecordReceipts(ctx context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error) {
	var recorded []notification.RecordedReceipt
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		receipts := timed(receipts)
		rows, err := lockReceived(ctx, tx, receipts)
		if err != nil {
			return err
		}
		withLongIDs(receipts, rows)
		known := make([]notification.Receipt, 0, len(receipts))
		for i, r := range receipts {
			if about := rows[r.DeliveryID]; len(about) > 0 {
				if about[0].Erased {
					receipts[i].Detail = ""
				}
				known = append(known, receipts[i])
			}
		}
		fresh, err := storeReceipts(ctx, tx, known)
		if err != nil {
			return err
		}
		recorded = make([]notification.RecordedReceipt, len(receipts))
		var changes receiptChanges
		for i, r := range receipts {
			recorded[i] = recordedAs(r, rows[r.DeliveryID], fresh)
			if !recorded[i].Unknown && !recorded[i].Repeated {
				delete(fresh, receiptKey{r.Provider, r.ID}) // the next receipt with this key is a repeat
				changes.add(r, rows[r.DeliveryID], s.AddressKeys())
			}
		}
		return changes.store(ctx, tx)
	})
	if err != nil {
		return nil, db.Wrap(err, "record receipts")
	}
	return recorded, nil
}

// Traceparents returns the traceparents of deliveries whose events have one.
func (s Store) Traceparents(ctx context.Context, deliveryIDs []string) (map[string]string, error) {
	const query = `
		SELECT n.delivery_id, o.traceparent
		FROM   notification_state n
		JOIN   event_outbox o USING (event_id)
		WHERE  n.delivery_id = ANY ($1)
		AND    o.traceparent IS NOT NULL`

	found := map[string]string{}
	var id, traceparent string
	err := db.Each(ctx, s.Pool, "read traceparents", []any{&id, &traceparent}, func() { found[id] = traceparent }, query, deliveryIDs)
	return found, err
}

// receiptKey identifies a receipt and its repeats.
type receiptKey struct {
	provider string
	id       string
}

func recordedAs(r notification.Receipt, rows []*receivedRow, fresh map[receiptKey]bool) notification.RecordedReceipt {
	if len(rows) == 0 {
		return notification.RecordedReceipt{Unknown: true}
	}
	return notification.RecordedReceipt{
		Repeated: !fresh[receiptKey{r.Provider, r.ID}],
		Channel:  rows[0].Channel,
		Age:      rows[0].Age,
	}
}

// receivedRow is a delivery that receipts are about.
type receivedRow struct {
	ID             int64
	DeliveryID     string
	DigestID       string // empty: none
	Channel        notification.Channel
	UserType       notification.UserType
	UserID         string
	Category       string   // of its event type; empty: none
	Attempts       int      // begun
	MessageID      string   // the provider's latest; empty: none is recorded
	MessagesBefore []string // the provider's ids before each retry
	ReceiptFailed  bool
	Failed         bool // FAILED by a receipt or by its attempts, so it has a dead letter
	Escalates      bool
	Erased         bool          // the recipient was erased
	Age            time.Duration // since it was sent; 0: not recorded
}

// lockReceived locks the deliveries that receipts name, in the order of their ids as every
// statement does. It returns them by delivery id and by digest id.
func lockReceived(ctx context.Context, tx pgx.Tx, receipts []notification.Receipt) (map[string][]*receivedRow, error) {
	const lock = `
		SELECT n.id
		FROM   notification_state n
		WHERE  n.id = ANY (ARRAY (
		           SELECT d.id
		           FROM   notification_state d
		           WHERE  d.delivery_id = ANY ($1)
		           UNION ALL
		           SELECT i.id
		           FROM   unnest($1) AS digest (id)
		           CROSS JOIN LATERAL (SELECT m.id FROM notification_state m WHERE m.digest_id = digest.id LIMIT $2) i
		           UNION ALL
		           SELECT h.id
		           FROM   unnest($1) AS hash (id)
		           CROSS JOIN LATERAL (
		               SELECT m.id FROM notification_state m WHERE m.channel = 'SMS' AND octet_length(m.delivery_id) > 100
		                   AND long_id_hash(m.delivery_id) = hash.id
		               UNION ALL
		               (SELECT m.id FROM notification_state m WHERE m.channel = 'SMS' AND octet_length(m.digest_id) > 100
		                   AND long_id_hash(m.digest_id) = hash.id LIMIT $2)) h
		           WHERE  octet_length(hash.id) = 64))
		ORDER BY n.id
		FOR NO KEY UPDATE`
	// A second statement sees rows committed while the first one waited for its locks.
	const read = `
		SELECT n.id, n.delivery_id, coalesce(n.digest_id, '') AS digest_id, n.channel,
		       n.user_type, n.user_id, coalesce(g.category, '') AS category, n.attempt_count AS attempts,
		       coalesce(n.provider_message_id, '') AS message_id,
		       ARRAY (SELECT r.message_id_before FROM delivery_retry r WHERE r.delivery_id = n.delivery_id AND r.message_id_before IS NOT NULL)
		           AS messages_before,
		       n.receipt_failed, n.status = 'FAILED' AS failed,
		       n.escalates OR EXISTS (SELECT FROM event_type_escalation e WHERE (e.event_type, e.from_channel) = (n.event_type, n.channel))
		           AS escalates,
		       ` + db.Erased + ` AS erased,
		       greatest(now() - coalesce(n.sent_at, now()), '0') AS age
		FROM   notification_state n
		LEFT JOIN event_category g USING (event_type)
		WHERE  n.id = ANY ($1)
		ORDER BY n.id`

	names := make([]string, len(receipts))
	for i, r := range receipts {
		names[i] = r.DeliveryID
	}
	ids, err := db.Collect(ctx, tx, "lock deliveries", pgx.RowTo[int64], lock, names, notification.MaxDigestItems)
	if err != nil {
		return nil, err
	}
	rows, err := db.Collect(ctx, tx, "read deliveries", pgx.RowToAddrOfStructByName[receivedRow], read, ids)
	found := map[string][]*receivedRow{}
	for _, row := range rows {
		for _, id := range []string{row.DeliveryID, row.DigestID} {
			if id == "" {
				continue
			}
			found[id] = append(found[id], row)
			if hash := longIDHash(id); hash != "" {
				found[hash] = append(found[hash], row)
			}
		}
	}
	return found, err
}

// withLongIDs replaces hashes of long ids by the ids.
func withLongIDs(receipts []notification.Receipt, rows map[string][]*receivedRow) {
	for i, r := range receipts {
		if len(rows[r.DeliveryID]) == 0 {
			continue
		}
		for _, id := range []string{rows[r.DeliveryID][0].DeliveryID, rows[r.DeliveryID][0].DigestID} {
			if longIDHash(id) == r.DeliveryID {
				receipts[i].DeliveryID = id
			}
		}
	}
}

// longIDHash returns what a provider of text messages has of an id that does not fit into its field of
// 100 bytes, as channel.FitID makes it; empty: the id fits.
func longIDHash(id string) string {
	if len(id) <= 100 {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// storeReceipts stores new receipts, and returns their keys.
func storeReceipts(ctx context.Context, tx pgx.Tx, receipts []notification.Receipt) (map[receiptKey]bool, error) {
	const query = `
		INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, message_id, at, status, outcome, detail, harm)
		SELECT "Provider", "ID", "DeliveryID", nullif("MessageID", ''), "At", "Word", nullif("Status", ''), nullif("Detail", ''),
		       nullif("Harm", '')
		FROM   jsonb_to_recordset($1) AS r ("Provider" text, "ID" text, "DeliveryID" text, "MessageID" text, "At" timestamptz, "Word" text,
		       "Status" text, "Detail" text, "Harm" text)
		ORDER BY "Provider", "ID"
		ON CONFLICT DO NOTHING
		RETURNING provider, receipt_id`

	fresh := map[receiptKey]bool{}
	var key receiptKey
	err := db.Each(ctx, tx, "store receipts", []any{&key.provider, &key.id}, func() { fresh[key] = true }, query, receipts)
	return fresh, err
}

// timed sets the current time on receipts that have none.
func timed(receipts []notification.Receipt) []notification.Receipt {
	receipts = slices.Clone(receipts)
	for i := range receipts {
		if receipts[i].At.IsZero() {
			receipts[i].At = time.Now().UTC()
		}
	}
	return receipts
}
