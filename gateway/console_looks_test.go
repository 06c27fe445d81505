package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/operate"
	"herald/internal/web/console"
	"herald/internal/wiring"
)

// consoleOf returns the address of a console over the gateway's database, with a day of deliveries
// and a customer with a history.
func consoleOf(c *contracted) string {
	c.t.Helper()
	_, err := c.store.Pool.Exec(c.t.Context(), `
		INSERT INTO delivery_count (since, channel, status, count)
		SELECT date_bin('10 minutes', now() - h * interval '1 hour', 'epoch'), channel, status, 10 + (h * 7 + length(channel) * 5 + length(status) * 3) % 40 / divisor
		FROM   generate_series(0, 23) h, (VALUES ('EMAIL'), ('SMS'), ('PUSH'), ('WEBSOCKET')) c (channel), (VALUES ('SENT', 1), ('DELIVERED', 2), ('FAILED', 20)) s (status, divisor)
		ON CONFLICT DO NOTHING;
		UPDATE event_outbox SET created_at = now() - interval '150 minutes' WHERE status = 'PENDING';
		INSERT INTO recipient (user_type, user_id, email, phone, timezone) VALUES ('CUSTOMER', '7', 'seven@example.com', '+12025550107', 'Europe/Rome') ON CONFLICT DO NOTHING;
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		VALUES ('evt-1', 'PROMOTION', 'CUSTOMER', '7', '{}', 'PROCESSED', now()), ('evt-2', 'RESERVATION_CONFIRMED', 'CUSTOMER', '7', '{}', 'PROCESSED', now()) ON CONFLICT DO NOTHING;
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		VALUES ('evt-1', 'CUSTOMER', '7', '2026-11-21 18:00:00Z', '{"EMAIL": "SELECTED", "SMS": "QUIET_HOURS", "PUSH": "NO_ADDRESS"}'),
		       ('evt-2', 'CUSTOMER', '7', '2026-11-20 09:30:00Z', '{"EMAIL": "SELECTED", "SMS": "SELECTED"}') ON CONFLICT DO NOTHING;
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, sent_at, delivered_at, last_error)
		VALUES ('evt-1', 'PROMOTION', 'CUSTOMER', '7', 'EMAIL', 'evt-1-customer7-EMAIL', '', '', 'FAILED', NULL, NULL, 'sendgrid refused: 400'),
		       ('evt-2', 'RESERVATION_CONFIRMED', 'CUSTOMER', '7', 'EMAIL', 'evt-2-customer7-EMAIL', '', '', 'DELIVERED', '2026-11-20 09:30:01Z', '2026-11-20 09:30:04Z', NULL),
		       ('evt-2', 'RESERVATION_CONFIRMED', 'CUSTOMER', '7', 'SMS', 'evt-2-customer7-SMS', '', '', 'SENT', '2026-11-20 09:30:01Z', NULL, NULL) ON CONFLICT DO NOTHING;
		SELECT set_config('herald.changed_by', 'inbox', true);
		INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled) VALUES ('CUSTOMER', '7', 'offers', 'PUSH', false) ON CONFLICT DO NOTHING;
		UPDATE preference_change SET at = '2026-11-21 12:00:00Z' WHERE user_id = '7'`)
	require.NoError(c.t, err)
	away := errors.New("Temporal is out of reach")
	store := c.store
	server := httptest.NewServer(console.New(console.Config{
		Explain: explain.Explainer{DB: store, Unreachable: away},
		Providers: func(ctx context.Context) ([]operate.ProviderView, error) {
			return operate.ReadProviders(ctx, store, wiring.New())
		},
		Pollers: func(context.Context) (operate.Pollers, error) {
			since := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
			return operate.Pollers{Pollers: []operate.Poller{{ID: "herald-outbox-poller-1", Source: "herald", Status: operate.PollerRunning, Since: &since}}}, nil
		},
		Access: console.Access{Actor: "ada@support"}, Key: []byte("key"), Logger: slog.New(slog.DiscardHandler),
	}).Handler())
	c.t.Cleanup(server.Close)
	return server.URL
}
