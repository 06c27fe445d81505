package person

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// ExportPage is a page of rows of one table, as JSON.
type ExportPage struct {
	Table string
	Rows  []json.RawMessage
}

// exportPage is the number of rows that one statement reads.
const exportPage = 500

// ExportPersonal calls each with the rows about a person, page by page: rows of tables whose rows
// belong to one person, the record of their merge, deliveries with their attempts, receipts and
// retries, decisions, and operators' actions on the person as a whole.
func (s Store) ExportPersonal(ctx context.Context, who notification.RecipientKey, each func(ExportPage) error) error {
	for _, table := range personalTables {
		query := "SELECT to_jsonb(n) FROM " + table + " n WHERE n.user_type::text = $1 AND n.user_id::text = $2"
		if err := s.exportPage(ctx, each, table, query, who.UserType, who.UserID); err != nil {
			return err
		}
	}
	const merges = "SELECT to_jsonb(n) FROM merged_recipient n WHERE (n.user_type, n.user_id) = ($1, $2)"
	if err := s.exportPage(ctx, each, MergedTable, merges, who.UserType, who.UserID); err != nil {
		return err
	}
	const actions = "SELECT to_jsonb(n) FROM operator_action n WHERE n.target = $1 ORDER BY n.id"
	if err := s.exportPage(ctx, each, "operator_action", actions, who.String()); err != nil {
		return err
	}
	return s.exportDeliveries(ctx, who, each)
}

// exportPage reads one page, and calls each unless it is empty.
func (s Store) exportPage(ctx context.Context, each func(ExportPage) error, table, query string, args ...any) error {
	rows, err := db.Collect(ctx, s.Pool, "read "+table, pgx.RowTo[json.RawMessage], query, args...)
	if err != nil || len(rows) == 0 {
		return err
	}
	return each(ExportPage{table, rows})
}

func (s Store) exportDeliveries(ctx context.Context, who notification.RecipientKey, each func(ExportPage) error) error {
	const query = `
		SELECT n.id, to_jsonb(n) || jsonb_build_object(
		           'delivery_attempt', (SELECT coalesce(jsonb_agg(a ORDER BY a.attempt), '[]') FROM delivery_attempt a
		               WHERE a.delivery_id = n.delivery_id),
		           'delivery_receipt', (SELECT coalesce(jsonb_agg(r ORDER BY r.at), '[]') FROM delivery_receipt r
		               WHERE r.delivery_id IN (n.delivery_id, n.digest_id)),
		           'delivery_retry', (SELECT coalesce(jsonb_agg(y ORDER BY y.retried_at), '[]') FROM delivery_retry y
		               WHERE y.delivery_id = n.delivery_id))
		FROM   notification n
		WHERE  n.user_type = $1
		AND    n.user_id = $2
		AND    n.id > $3
		ORDER BY n.id
		LIMIT  $4`

	var last int64
	for {
		page := ExportPage{Table: DeliveryTable}
		var row json.RawMessage
		err := db.Each(ctx, s.Pool, "read deliveries", []any{&last, &row}, func() { page.Rows, row = append(page.Rows, row), nil },
			query, who.UserType, who.UserID, last, exportPage)
		if err != nil || len(page.Rows) == 0 {
			return err
		}
		if err := each(page); err != nil {
			return err
		}
	}
}

// ExportEvents calls each with the events of a page, and with the decisions about the person. An
// event that told other people too comes without its payload.
func (s Store) ExportEvents(ctx context.Context, who Selves, ids []string, each func(ExportPage) error) error {
	const decisions = `
		SELECT to_jsonb(d)
		FROM   ` + selves + `
		JOIN   notification_decision d USING (user_type, user_id)
		WHERE  d.event_id = ANY ($3)
		ORDER BY d.event_id`
	const events = `
		SELECT jsonb_build_object('event_id', t.event_id, 'event_type', t.event_type, 'aggregate_type', t.aggregate_type, 'aggregate_id',
		       t.aggregate_id,
		           'correlation_id', t.correlation_id, 'created_at', t.created_at, 'payload', CASE WHEN ` + onlyTheirs + ` THEN t.payload END)
		FROM   event_outbox t
		WHERE  t.event_id = ANY ($3)
		ORDER BY t.event_id`

	userTypes, userIDs := who.columns()
	if err := s.exportPage(ctx, each, "notification_decision", decisions, userTypes, userIDs, ids); err != nil {
		return err
	}
	return s.exportPage(ctx, each, "event_outbox", events, userTypes, userIDs, ids)
}
