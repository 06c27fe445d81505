package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/outbox"
)

// placeOrder writes the service's row and the event in one transaction.
func placeOrder(ctx context.Context, pool *pgxpool.Pool, orderID string, customerID int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, customer_id) VALUES ($1, $2)", orderID, customerID); err != nil {
			return err
		}
		return outbox.Insert(ctx, tx, outbox.Event{
			ID: "order-" + orderID, Type: "ORDER_PLACED", AggregateType: "CUSTOMER", AggregateID: fmt.Sprint(customerID),
			Payload: map[string]any{"orderId": orderID, "customerId": customerID},
		})
	})
}

// placeOrderSQL does the same with database/sql. A repeated request gets ErrDuplicateID, and changes
// nothing.
func placeOrderSQL(ctx context.Context, db *sql.DB, orderID string, customerID int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, customer_id) VALUES ($1, $2)", orderID, customerID); err != nil {
		return err
	}
	err = outbox.Insert(ctx, tx, outbox.Event{
		ID: "order-" + orderID, Type: "ORDER_PLACED", AggregateType: "CUSTOMER", AggregateID: fmt.Sprint(customerID),
		Payload: map[string]any{"orderId": orderID, "customerId": customerID},
	})
	if errors.Is(err, outbox.ErrDuplicateID) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func ExampleInsert() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://orders@db.example.com/shop")
	if err != nil {
		panic(err)
	}
	if err := placeOrder(ctx, pool, "4711", 7); err != nil {
		panic(err)
	}
}

func ExampleInsert_databaseSQL() {
	db, err := sql.Open("pgx", "postgres://orders@db.example.com/shop")
	if err != nil {
		panic(err)
	}
	if err := placeOrderSQL(context.Background(), db, "4711", 7); err != nil {
		panic(err)
	}
}
