package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
)

// publish publishes messages at the wanted rate, as a worker does: each call waits for the
// broker's word, and many are under way at once.
func (s socketSettings) publish(ctx context.Context, in *installation, server *socketServer, clients *socketClients) (published int, err error) {
	broker, err := rabbitmq.Connect(ctx, rabbitmq.Config{URL: in.vhost, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	defer broker.Close()
	n := int(s.duration.Seconds() * float64(s.rate))
	frames, err := in.socketRows(ctx, server.name, n, s.sockets)
	if err != nil {
		return 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	began := time.Now()
	for i, frame := range frames {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(s.rate))
		time.Sleep(time.Until(due))
		body, err := json.Marshal(frame)
		if err != nil {
			return 0, err
		}
		group.Go(func() error {
			clients.publishes(frame.NotificationID)
			return broker.PublishWebSocket(ctx, "customer", frame.DeliveryID, body)
		})
	}
	return n, group.Wait()
}

// socketRows puts deliveries into the table whose attempts have begun, to the recipients in
// turn, and returns their messages.
func (in *installation) socketRows(ctx context.Context, run string, n, recipients int) ([]notification.Frame, error) {
	rows, err := in.db.Query(ctx, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, attempt_count)
		SELECT $1 || '-' || i, 'RESERVATION_REQUESTED', 'CUSTOMER', (i * 7919 % $3)::text, 'WEBSOCKET', $1 || '-' || i || '-WEBSOCKET',
		       'New reservation', 'Table for 4 at 19:30, by the window if there is one left; one guest is vegetarian', 1
		FROM   generate_series(1::bigint, $2) i
		ORDER BY i
		RETURNING id, event_id, event_type, user_type, user_id, delivery_id, title, body, created_at`, run, n, recipients)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (notification.Frame, error) {
		f := notification.Frame{Type: notification.FrameNotification}
		return f, row.Scan(&f.NotificationID, &f.EventID, &f.EventType, &f.UserType, &f.UserID, &f.DeliveryID, &f.Title, &f.Body, &f.CreatedAt)
	})
}

// delivered waits until all n deliveries are DELIVERED, for 30 s at most, and counts them.
func (in *installation) delivered(ctx context.Context, n int) (count int, err error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err = in.db.QueryRow(ctx, "SELECT count(*) FROM notification WHERE status = 'DELIVERED'").Scan(&count)
		if err != nil || count >= n || time.Now().After(deadline) {
			return count, err
		}
	}
}
