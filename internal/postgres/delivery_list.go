package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// DeliveryList reads the latest deliveries that filter names, up to limit of
// them, the newest first.
func (s *Store) DeliveryList(ctx context.Context, filter DeliveryFilter, limit int) ([]DeliveryRow, error) {
	const query = `
		SELECT ` + deliveryColumns + `
		FROM   notification n
		WHERE  ` + filtered + `
		ORDER BY n.id DESC
		LIMIT  $12`

	rows, err := s.Pool.Query(ctx, query, filter.params(limit)...)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[DeliveryRow])
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// DeliveryIDs reads the latest delivery ids that begin with prefix, up to limit
// of them among the last 1,000 deliveries, the newest first.
func (s *Store) DeliveryIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT delivery_id
		FROM   (SELECT id, delivery_id FROM notification ORDER BY id DESC LIMIT 1000) n
		WHERE  starts_with(delivery_id, $1)
		ORDER BY id DESC
		LIMIT  $2`

	rows, err := s.Pool.Query(ctx, query, prefix, limit)
	if err != nil {
		return nil, fmt.Errorf("read delivery ids: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read delivery ids: %w", err)
	}
	return ids, nil
}
