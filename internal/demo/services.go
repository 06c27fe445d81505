package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/example"
	"herald/internal/outboxes"
	"herald/internal/postgres"
)

// Services are the two services of the example that have outboxes of their own.
type Services struct {
	Names  []string                // of their sources
	Wallet string                  // the one of the wallet hub, which is in the ids of its events
	Orders []example.ExpectedEvent // of the order service; the wallet hub's concern nobody
	Kcat   Kcat
}

// FindServices returns the services of the example if both are among the sources, in
// Herald's own database; else nil.
func FindServices(sources []outboxes.Source, databaseURL, brokers string) (*Services, error) {
	names := map[string]string{}
	for _, source := range sources {
		if source.DatabaseURL == databaseURL && source.Kafka != nil {
			names[source.Table] = source.Name
		}
	}
	if names[example.OrdersTable] == "" || names[example.WalletTable] == "" {
		return nil, nil
	}
	orders, err := example.Orders()
	return &Services{
		Names: []string{names[example.OrdersTable], names[example.WalletTable]}, Wallet: names[example.WalletTable], Orders: orders, Kcat: Kcat{Brokers: brokers},
	}, err
}

// serviceRow is a row of a service's outbox, and what its topic must hold of it by the
// service's own document.
type serviceRow struct {
	Outbox        string
	EventID       string
	EventType     string
	CorrelationID string // empty: none
	Topic         string
	Key           *string
	Payload       string
	Mark          string // what the table says of the row
	Pending       bool
	Sent          bool
}

// rows are those that the services wrote in a run.
func (s *Services) rows(ctx context.Context, db *postgres.Store, run string) ([]serviceRow, error) {
	const query = `
		SELECT 'orders.outbox' AS outbox,
		       id::text AS event_id,
		       event_type,
		       '' AS correlation_id,
		       'order-events' AS topic,
		       aggregate_id::text AS key,
		       payload,
		       status AS mark,
		       status = 'NEW' AS pending,
		       status = 'SENT' AND sent_at IS NOT NULL AS sent
		FROM   orders.outbox
		WHERE  id::text LIKE $1 || '-%'
		UNION ALL
		SELECT 'wallet.outbox',
		       $2 || '-' || id,
		       event_type,
		       coalesce(correlation_id, ''),
		       event_type || '-out-0',
		       NULL,
		       payload,
		       CASE WHEN sent THEN 'sent' ELSE 'unsent' END,
		       NOT sent,
		       sent
		FROM   wallet.outbox
		WHERE  strpos(payload, $1) > 0
		ORDER BY outbox, event_id`

	rows, _ := db.Pool.Query(ctx, query, run, s.Wallet) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[serviceRow])
	if err != nil {
		return nil, fmt.Errorf("read the outboxes of the example's services: %w", err)
	}
	return found, nil
}

// ready fails where a run would wait for something that never comes.
func (s *Services) ready(ctx context.Context, db *postgres.Store, run string) error {
	if _, err := s.rows(ctx, db, run); err != nil {
		return err
	}
	_, err := s.readTopics(ctx, time.Now())
	return err
}

// act has the services do their work, each in a transaction of its own.
func (s *Services) act(ctx context.Context, db *postgres.Store, run string) error {
	for _, script := range example.ServiceScripts(run) {
		anything := func(context.Context, map[string]int) error { return nil } // they change rows of their own
		if err := db.RunScripts(ctx, []string{script}, nil, anything); err != nil {
			return err
		}
	}
	return nil
}

// marked says whether the tables say of all rows what became of them.
func marked(rows []serviceRow) bool {
	for _, row := range rows {
		if row.Pending {
			return false
		}
	}
	return true
}
