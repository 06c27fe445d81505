package demo

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/relay"
	"herald/tools/example"
)

// Services are the two services of the example that have separate outboxes.
type Services struct {
	Names  []string                // of their sources
	Wallet string                  // name of the wallet hub's source, which prefixes the ids of its events
	Orders []example.ExpectedEvent // of the order service; events of the wallet hub have no recipients
}

// FindServices returns the services of the example if the sources list both of them in
// Herald's database, or nil.
func FindServices(sources []relay.Source, databaseURL string) (*Services, error) {
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
		Names: []string{names[example.OrdersTable], names[example.WalletTable]}, Wallet: names[example.WalletTable], Orders: orders,
	}, err
}

// ServiceRow is a row of a service's outbox.
type ServiceRow struct {
	Outbox    string `json:"outbox"`
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Mark      string `json:"mark"`
	Pending   bool   `json:"-"`
	Sent      bool   `json:"-"` // the row is in its topic
}

// rows returns the rows that the services wrote in a run.
func (s *Services) rows(ctx context.Context, db *db.DB, run string) ([]ServiceRow, error) {
	const query = `
		SELECT 'orders.outbox' AS outbox,
		       id::text AS event_id,
		       event_type,
		       status AS mark,
		       status = 'NEW' AS pending,
		       status = 'SENT' AND sent_at IS NOT NULL AS sent
		FROM   orders.outbox
		WHERE  id::text LIKE $1 || '-%'
		UNION ALL
		SELECT 'wallet.outbox',
		       $2 || '-' || id,
		       event_type,
		       CASE WHEN sent THEN 'sent' ELSE 'unsent' END,
		       NOT sent,
		       sent
		FROM   wallet.outbox
		WHERE  strpos(payload, $1) > 0
		ORDER BY outbox, event_id`

	rows, _ := db.Pool.Query(ctx, query, run, s.Wallet) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[ServiceRow])
	if err != nil {
		return nil, fmt.Errorf("read the outboxes of the example's services: %w", err)
	}
	return found, nil
}

// act runs the scripts of the services, each in a separate transaction.
func (s *Services) act(ctx context.Context, db *db.DB, run string) error {
	for _, script := range example.ServiceScripts(run) {
		anything := func(context.Context, map[string]int) error { return nil } // accepts all changes: each run has separate rows
		if err := db.RunScripts(ctx, []string{script}, nil, anything); err != nil {
			return err
		}
	}
	return nil
}
