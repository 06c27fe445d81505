package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/web/console"
	"herald/internal/wiring"
)

// consoleOf returns the address of a console whose pages do not refresh themselves, because dress could
// not set the fonts of a new page.
func consoleOf(c *contracted) string {
	c.t.Helper()
	served := consoleHandler(c)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/live.js" {
			served.ServeHTTP(w, r)
		}
	}))
	c.t.Cleanup(server.Close)
	return server.URL
}

// consoleHandler returns a console over the gateway's database, with a day of deliveries and a customer
// with a history.
func consoleHandler(c *contracted) http.Handler {
	c.t.Helper()
	_, err := c.store.Pool.Exec(c.t.Context(), `
		INSERT INTO delivery_count (since, channel, status, count)
		SELECT date_bin('10 minutes', now() - h * interval '1 hour', 'epoch'), channel, status,
		       10 + (h * 7 + length(channel) * 5 + length(status) * 3) % 40 / divisor
		FROM   generate_series(0, 23) h, (VALUES ('EMAIL'), ('SMS'), ('PUSH'), ('WEBSOCKET')) c (channel),
		       (VALUES ('SENT', 1), ('DELIVERED', 2), ('FAILED', 20)) s (status, divisor)
		ON CONFLICT DO NOTHING;
		UPDATE event_outbox SET created_at = now() - interval '150 minutes' WHERE status = 'PENDING';
		SELECT set_config('herald.changed_by', 'inbox', true);
		INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
		VALUES ('CUSTOMER', '7', 'offers', 'PUSH', false) ON CONFLICT DO NOTHING;
		UPDATE preference_change SET at = '2026-11-21 12:00:00Z' WHERE user_id = '7'`)
	require.NoError(c.t, err)
	const email, sms = notification.Email, notification.SMS
	promoted := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	confirmed := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	postgrestest.AddMissing(c.t, c.store.Pool,
		postgrestest.Recipient{UserID: "7", Email: "seven@example.com", Phone: "+12025550107", Timezone: "Europe/Rome"},
		postgrestest.Event{Type: "PROMOTION", AggregateID: "7", Status: notification.OutboxProcessed},
		postgrestest.Event{ID: "evt-2", Type: "RESERVATION_CONFIRMED", AggregateID: "7", Status: notification.OutboxProcessed},
		postgrestest.Decisions{UserID: "7", DecidedAt: promoted, Channels: map[notification.Channel]notification.Decision{
			email: notification.DecisionSelected, sms: notification.DecisionQuietHours, notification.Push: notification.DecisionNoAddress,
		}},
		postgrestest.Decisions{EventID: "evt-2", UserID: "7", DecidedAt: confirmed, Channels: map[notification.Channel]notification.Decision{
			email: notification.DecisionSelected, sms: notification.DecisionSelected,
		}},
		postgrestest.Delivery{
			ID: "evt-1-customer7-EMAIL", EventType: "PROMOTION", UserID: "7", Status: notification.Failed, LastError: "sendgrid refused: 400",
			CreatedAt: time.Now().Add(-90 * time.Minute),
		},
		postgrestest.Delivery{
			ID: "evt-2-customer7-EMAIL", EventID: "evt-2", EventType: "RESERVATION_CONFIRMED", UserID: "7",
			Status: notification.Delivered, SentAt: confirmed.Add(time.Second), DeliveredAt: confirmed.Add(4 * time.Second),
		},
		postgrestest.Delivery{
			ID: "evt-2-customer7-SMS", EventID: "evt-2", EventType: "RESERVATION_CONFIRMED", UserID: "7", Channel: sms,
			Status: notification.Sent, SentAt: confirmed.Add(time.Second),
		})
	away := errors.New("Temporal is out of reach")
	store := c.store
	_, err = c.store.Pool.Exec(c.t.Context(), `
		INSERT INTO provider_state (provider, rests, rests_until, failure)
		VALUES ('sendgrid', 2, now() + interval '1 hour', 'sendgrid: 503 Service Unavailable') ON CONFLICT DO NOTHING;
		INSERT INTO delivery_attempt (delivery_id, attempt, started_at, ended_at, took, outcome, provider_status, detail)
		VALUES ('evt-1-customer7-EMAIL', 1, now(), now(), '1 second', 'REFUSED', 400, 'sendgrid refused: 400') ON CONFLICT DO NOTHING`)
	require.NoError(c.t, err)
	return console.New(console.Config{
		Explain: explain.Explainer{DB: store, Unreachable: away},
		Providers: func(ctx context.Context) ([]operate.ProviderView, error) {
			return operate.ReadProviders(ctx, store, wiring.New())
		},
		Pollers: func(context.Context) (operate.Pollers, error) {
			since := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
			return operate.Pollers{Pollers: []operate.Poller{{ID: "herald-outbox-poller-1", Source: "herald", Status: operate.PollerRunning,
				Since: &since}}}, nil
		},
		Access: console.Access{Actor: "ada@support"}, Key: []byte("key"), Logger: slog.New(slog.DiscardHandler),
	}).Handler()
}
