package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/health"
	"herald/internal/limit"
	"herald/internal/notification"
)

// scrape returns the lines of Herald's metrics, except herald_build_info.
func scrape(t *testing.T, m metrics) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	health.Handler(nil, m.page).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	require.Contains(t, answer.Body.String(), "go_goroutines", "the other metrics are there even if a server is down")
	var lines []string
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "herald_") && !strings.HasPrefix(line, "herald_build_info{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestGaugesOfServersAndOutboxes(t *testing.T) {
	t.Parallel()

	down := errors.New("connection refused")
	brokerUp, brokerDown := []string{"herald_broker_up 1"}, []string{"herald_broker_up 0"}
	kafkaUp, kafkaDown := []string{"herald_kafka_up 1"}, []string{"herald_kafka_up 0"}
	outbox := []string{
		"herald_ambiguous_rows 4", "herald_database_up 1", "herald_follow_ups_oldest_pending_seconds 30", "herald_follow_ups_pending 2", "herald_outbox_failed 1",
		"herald_outbox_oldest_pending_seconds 90", "herald_outbox_pending 7", "herald_source_topics_resting 0",
	}
	databaseDown := []string{"herald_database_up 0"}
	orders := []string{
		`herald_outbox_failed{source="orders"} 0`, `herald_outbox_oldest_pending_seconds{source="orders"} 0`,
		`herald_outbox_pending{source="orders"} 5`, `herald_source_topics_resting{source="orders"} 2`,
	}
	depth := []string{
		`herald_provider_resting{channel="EMAIL",provider="smtp"} 0`, `herald_sender_paused{channel="EMAIL",provider="smtp"} 0`,
		`herald_sender_limit_ratio{channel="EMAIL",provider="smtp"} 0`, `herald_queue_depth{queue="q"} 3`,
	}
	draining := []string{"herald_draining_workflows 2", "herald_pollers_lost 1"}
	tests := []struct {
		name                                      string
		broker, database, orders, kafka, temporal error

		want []string
	}{
		{name: "all is well", want: slices.Concat(brokerUp, kafkaUp, outbox, orders, depth, draining)},
		{name: "the broker is down", broker: down, want: slices.Concat(brokerDown, kafkaUp, outbox, orders, depth[:3], draining)},
		{name: "the database is down", database: down, want: slices.Concat(brokerUp, kafkaUp, databaseDown, orders, depth, draining)},
		{name: "another source is down", orders: down, want: slices.Concat(brokerUp, kafkaUp, outbox, depth, draining)},
		{name: "the broker of topics is down", kafka: down, want: slices.Concat(brokerUp, kafkaDown, outbox, orders, depth, draining)},
		{name: "Temporal is down", temporal: down, want: slices.Concat(brokerUp, kafkaUp, outbox, orders, depth)},
	}
	circuits, overSMTP := limit.NewCircuits(limit.Store{}), limit.NewFailover(nil, &limit.Provider{Name: "smtp", Sender: ours{}})
	circuits.Use(notification.Email, overSMTP)
	for _, tt := range tests {
		m, err := newMetrics(watched{
			sources: map[string]wiredSource{
				"herald": {state: func(ctx context.Context) (outboxState, error) {
					if _, bounded := ctx.Deadline(); !bounded {
						return outboxState{}, errors.New("the call has no deadline")
					}
					return outboxState{OutboxState: notification.OutboxState{Pending: 7, Failed: 1, OldestPending: 90 * time.Second}}, tt.database
				}},
				"orders": {state: func(context.Context) (outboxState, error) {
					return outboxState{notification.OutboxState{Pending: 5}, 2}, tt.orders
				}},
			},
			broker:  func() error { return tt.broker },
			queues:  func(context.Context) (map[string]int, error) { return map[string]int{"q": 3}, tt.broker },
			senders: map[notification.Channel]activities.Sender{notification.Email: overSMTP}, circuits: circuits,
			followUps: func(ctx context.Context) (notification.FollowUpState, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					return notification.FollowUpState{}, errors.New("the call has no deadline")
				}
				return notification.FollowUpState{Pending: 2, OldestPending: 30 * time.Second}, tt.database
			},
			draining: func(ctx context.Context) (int64, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					return 0, errors.New("the call has no deadline")
				}
				return 2, tt.temporal
			},
			lost: func(context.Context) (int64, error) { return 1, tt.temporal },
			sweep: func(context.Context) (notification.Sweep, error) {
				return notification.Sweep{Ambiguous: 4}, tt.database
			},
			topics: func(ctx context.Context) error {
				if _, bounded := ctx.Deadline(); !bounded {
					return errors.New("the call has no deadline")
				}
				return tt.kafka
			},
		})
		require.NoError(t, err, tt.name)
		require.ElementsMatch(t, tt.want, scrape(t, m), tt.name)
		require.ElementsMatch(t, tt.want, scrape(t, m), "and again")
	}
}

// ours is a sender of mails from our address.
type ours struct{ activities.Sender }

func (ours) From() string { return "news@example.com" }

// The gauges of a sender stay while its optional messages wait, even if another provider is used since then.
// Senders of other processes have none.
func TestGaugesOfAPausedSender(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `INSERT INTO sender_state (channel, provider, sender, recipients, complaints, paused_at)
		VALUES ('EMAIL', 'sendgrid', 'news@example.com', 1000, 6, now()), ('EMAIL', 'sendgrid', 'shop@example.com', 1000, 1, NULL),
		       ('SMS', 'twilio', '+15005550006', 1000, 0, now())`)
	watch := unused()
	watch.circuits = limit.NewCircuits(limit.On(s))
	watch.circuits.Use(notification.Email, limit.NewFailover(watch.circuits, &limit.Provider{Name: "smtp", Sender: ours{}}))
	watch.circuits.Read(t.Context())
	m, err := newMetrics(watch)
	require.NoError(t, err)
	lines := slices.DeleteFunc(scrape(t, m), func(line string) bool { return !strings.HasPrefix(line, "herald_sender_") })
	require.ElementsMatch(t, []string{
		`herald_sender_paused{channel="EMAIL",provider="sendgrid"} 1`, `herald_sender_limit_ratio{channel="EMAIL",provider="sendgrid"} 2`,
		`herald_sender_paused{channel="EMAIL",provider="smtp"} 0`, `herald_sender_limit_ratio{channel="EMAIL",provider="smtp"} 0`,
	}, lines)
}

// unused returns servers of which nothing is known.
func unused() watched {
	return watched{
		broker: func() error { return nil },
		queues: func(context.Context) (map[string]int, error) { return nil, nil },
		followUps: func(context.Context) (notification.FollowUpState, error) {
			return notification.FollowUpState{}, errors.New("connection refused")
		},
		draining: func(context.Context) (int64, error) { return 0, nil },
		lost:     func(context.Context) (int64, error) { return 0, nil },
		sweep:    func(context.Context) (notification.Sweep, error) { return notification.Sweep{}, nil },
	}
}

// Metrics keep every label of the activities, and drop the labels that the SDK adds.
func TestMetricsHaveTheActivitiesLabels(t *testing.T) {
	t.Parallel()

	m, err := newMetrics(unused())
	require.NoError(t, err)
	for _, activity := range []string{"Send", "GiveUp"} {
		labelled := m.temporal.WithTags(map[string]string{
			"activity_type": activity, "task_queue": "herald-email", "delivery_id": "evt-1", activities.ChannelLabel: "EMAIL",
			activities.OutcomeLabel: "FAILED",
		})
		labelled.Counter(activities.DeliveriesMetric).Inc(1)
	}
	m.temporal.WithTags(map[string]string{
		activities.ChannelLabel: "SMS",
	}).Timer(activities.ProviderLatencyMetric).Record(70 * time.Millisecond)

	all, want := map[string]string{"activity_type": "Send"}, []string{}
	for _, label := range slices.Sorted(slices.Values(activities.Labels())) {
		all[label] = "X"
		want = append(want, label+`="X"`)
	}
	m.temporal.WithTags(all).Counter(activities.EscalationsMetric).Inc(1)

	lines := scrape(t, m)

	require.Contains(t, lines, "herald_escalations_total{"+strings.Join(want, ",")+"} 1")
	require.NotContains(t, strings.Join(lines, "\n"), "herald_kafka_up", "no events go to topics")
	require.Contains(t, lines, `herald_deliveries_total{channel="EMAIL",outcome="FAILED"} 2`)
	require.Contains(t, lines, `herald_provider_latency_seconds_bucket{channel="SMS",le="0.05"} 0`)
	require.Contains(t, lines, `herald_provider_latency_seconds_bucket{channel="SMS",le="0.1"} 1`)
	require.Contains(t, lines, `herald_provider_latency_seconds_sum{channel="SMS"} 0.07`)
}
