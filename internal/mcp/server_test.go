package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"herald/internal/answer"
	"herald/internal/check"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/mcp"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/template"
	"herald/internal/wiring"
)

// private is in every value that no tool may show.
const private = "zz-private@example.com"

// refusing is an address without a server.
const refusing = "127.0.0.1:1"

// desk is a client of a server over a new database. Temporal is out of reach.
type desk struct {
	t      *testing.T
	store  *db.DB
	client *sdk.ClientSession
}

func newDesk(t *testing.T, changes func(*db.DB) *mcp.Changes) *desk {
	t.Helper()
	store := postgrestest.New(t)
	store.UseSecrets(notification.AddressKey{Fingerprint: "test", Hash: func(a string) []byte {
		sum := sha256.Sum256([]byte(a))
		return sum[:]
	}}, notification.AddressKey{})
	away := errors.New("Temporal is out of reach: " + private)
	cfg := mcp.Config{
		Answers: answer.Reader{
			Explain: explain.Explainer{DB: store, Unreachable: away, Texts: template.Engine{}},
			Pollers: func(context.Context) (operate.Pollers, error) { return operate.Pollers{}, away },
			CheckAll: func(ctx context.Context) check.Result {
				result := check.Run(ctx, check.Planning(check.PlanningInput{
					DB: store, Since: 24 * time.Hour, Senders: check.Senders{Wired: wiring.New()},
				}))
				result.Mistakes = append(result.Mistakes, check.Run(ctx, deadServers(t, store)).Mistakes...)
				result.Mistakes = append(result.Mistakes, check.Mistake{Place: "server", Problem: private, Remedy: private})
				result.NotChecked = append(result.NotChecked, check.NotChecked{Subject: "broker", Reason: private})
				return result
			},
		},
		Version: "test", Logger: slog.New(slog.DiscardHandler),
	}
	if changes != nil {
		cfg.Changes = changes(store)
	}
	ours, theirs := sdk.NewInMemoryTransports()
	served, err := mcp.New(cfg).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = client.Close(), served.Wait() })
	return &desk{t, store, client}
}

// deadServers returns the check of a source, Kafka and RabbitMQ that refuse connections.
func deadServers(t *testing.T, store *db.DB) []check.Subject {
	t.Helper()
	sources := []relay.Source{{
		Name: "orders", Dialect: relay.OrderService, Table: "orders.outbox", DatabaseURL: "postgres://zz-private@" + refusing + "/zz-private",
		Kafka: &relay.KafkaRoute{Topic: "orders"},
	}}
	brokers, err := kafka.New(kafka.Settings{Brokers: []string{refusing}})
	require.NoError(t, err)
	t.Cleanup(func() { brokers.Close(context.Background()) })
	return slices.Concat(check.Sources(sources), check.Topics(store, brokers, sources),
		[]check.Subject{check.Broker(store, "amqp://zz-private:zz-private@"+refusing+"/")})
}

// call calls a tool, and returns its result and its text, neither of which has anything private.
func (d *desk) call(tool string, in any) (*sdk.CallToolResult, string) {
	d.t.Helper()
	result, err := d.client.CallTool(d.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	require.NoError(d.t, err, tool)
	written, err := json.Marshal(result)
	require.NoError(d.t, err)
	require.NotContains(d.t, string(written), private, tool)
	require.NotContains(d.t, string(written), "zz-private", tool)
	require.NotContains(d.t, string(written), "connection refused", tool)
	return result, string(written)
}

func ask[Out any](d *desk, tool string, in any) (out Out) {
	d.t.Helper()
	result, text := d.call(tool, in)
	require.False(d.t, result.IsError, text)
	written, err := json.Marshal(result.StructuredContent)
	require.NoError(d.t, err)
	require.NoError(d.t, json.Unmarshal(written, &out))
	return out
}

// plant adds an event with a failed and a missing delivery. Everything that may hold personal data
// has it.
func (d *desk) plant() {
	postgrestest.Add(d.t, d.store.Pool,
		postgrestest.Recipient{UserID: "7", Name: private, Email: private, Timezone: "Europe/Berlin"},
		postgrestest.Event{ID: "evt-1", Type: "NEWS", AggregateType: "BROADCAST", AggregateID: "0", Payload: `{"text": "` + private + `"}`,
			Status: notification.OutboxFailed},
		postgrestest.Event{ID: "evt-2", Type: "NEWS", AggregateType: "BROADCAST", AggregateID: "0", Payload: `{"text": "` + private + `"}`},
		postgrestest.Route{EventType: "NEWS"},
		postgrestest.Delivery{ID: "d1", EventID: "evt-1", EventType: "NEWS", UserID: "7", Title: private, Body: private, Address: private,
			Status: notification.Failed, LastError: "550 no such user " + private})
	for _, sql := range []string{
		`UPDATE event_outbox SET error_message = $1`,
		`INSERT INTO processed_event (event_id, status, outcome, problem) VALUES ('evt-1', 'SUCCESS', 'PROBLEM', $1)`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels)
			VALUES ('evt-1', 'CUSTOMER', '7', '{"EMAIL": "SELECTED", "SMS": "NO_ADDRESS"}') ON CONFLICT (event_id, user_type, user_id)
			DO UPDATE SET channels = excluded.channels WHERE $1 <> ''`,
		`INSERT INTO delivery_attempt (delivery_id, attempt, started_at, ended_at, took, outcome, detail)
			VALUES ('d1', 1, now(), now(), '1 second', 'REFUSED', $1)`,
		`INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, detail)
			VALUES ('sendgrid', '1', 'd1', now(), $1, $1)`,
		`INSERT INTO sender_state (channel, provider, sender, recipients, complaints, paused_at)
			VALUES ('EMAIL', 'sendgrid', $1, 1000, 9, now())`,
		`INSERT INTO operator_action (actor, command, target, detail) VALUES ($1, 'event retry', 'd1', $1)`,
		`INSERT INTO notification_template (event_type, title, body) VALUES ('NEWS', $1, '{{.payload.text}} {{.payload.missing.deeper}}')`,
	} {
		postgrestest.Exec(d.t, d.store, sql, private)
	}
}

// Without --allow-changes there are only tools that read. Each has schemas.
func TestTools(t *testing.T) {
	t.Parallel()

	d := newDesk(t, nil)
	listed, err := d.client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
		require.NotNil(t, tool.InputSchema, tool.Name)
		require.NotNil(t, tool.OutputSchema, tool.Name)
	}
	require.ElementsMatch(t, []string{"why", "event_show", "delivery_show", "check", "simulate", "status"}, names)
}

// Tools answer with ids, codes and counts, and show nothing private.
func TestAnswers(t *testing.T) {
	t.Parallel()

	d := newDesk(t, nil)
	d.plant()

	delivery := ask[answer.Delivery](d, "delivery_show", answer.DeliveryRequest{ID: "d1"})
	require.Equal(t, "CUSTOMER/7", delivery.Recipient)
	require.True(t, delivery.HasError)
	require.Equal(t, notification.OutcomeRefused, delivery.Attempts[0].Outcome)
	require.Len(t, delivery.Receipts, 1)

	event := ask[answer.Event](d, "event_show", answer.EventRequest{ID: "evt-1", Limit: 1})
	require.True(t, event.Outbox.HasError)
	require.Equal(t, "d1", event.Recipients[0].Deliveries[notification.Email].ID)

	why := ask[answer.Why](d, "why", answer.WhyRequest{Delivery: "d1"})
	require.Equal(t, notification.DecisionSelected, why.Explanation.Decision)
	require.NotEmpty(t, why.Explanation.Next)
	missing := ask[answer.Why](d, "why", answer.WhyRequest{Event: "evt-1", Recipient: "CUSTOMER/7", Channel: "sms"})
	require.Equal(t, notification.DecisionNoAddress, missing.Explanation.Decision)
	require.Nil(t, missing.Explanation.Delivery)
	undecided := ask[answer.Why](d, "why", answer.WhyRequest{Event: "evt-2", Recipient: "CUSTOMER/7", Channel: "EMAIL"})
	require.Contains(t, undecided.Explanation.Meaning, "nothing was decided")
	all := ask[answer.Why](d, "why", answer.WhyRequest{Recipient: "CUSTOMER/7", Limit: 1})
	require.Len(t, all.Decisions, 1)
	require.True(t, all.More)

	plan := ask[answer.Simulation](d, "simulate", answer.SimulateRequest{Event: "evt-2", Recipients: []string{"CUSTOMER/7"}})
	require.Equal(t, 1, plan.Recipients)
	require.Equal(t, notification.DecisionSelected, plan.People[0].Decisions[0].Decision)
	unwritten := ask[answer.Simulation](d, "simulate",
		answer.SimulateRequest{Type: "NEWS", Aggregate: "BROADCAST/0", Payload: map[string]any{"text": private}})
	require.Equal(t, 1, unwritten.Recipients)

	checked := ask[answer.Check](d, "check", answer.CheckRequest{})
	require.NotEmpty(t, checked.Checked)
	for _, place := range []string{"source orders", "setting KAFKA_BROKERS", "setting RABBITMQ_URL"} {
		require.True(t, slices.ContainsFunc(checked.Mistakes, func(m answer.Mistake) bool { return m.Place == place }), place)
	}
	status := ask[answer.Status](d, "status", answer.StatusRequest{})
	require.Equal(t, 1, status.Failed)
	require.Nil(t, status.Pollers)
	require.Equal(t, []answer.Sender{{Channel: notification.Email, Provider: "sendgrid", Level: notification.SenderPaused}}, status.Senders)
}

// Errors are answers, and they say what to do.
func TestErrors(t *testing.T) {
	t.Parallel()

	d := newDesk(t, nil)
	d.plant()
	for _, tt := range []struct {
		tool string
		in   any
		text string
	}{
		{"event_show", answer.EventRequest{ID: "none"}, "event list"},
		{"delivery_show", answer.DeliveryRequest{ID: "none"}, "delivery list"},
		{"event_show", answer.EventRequest{ID: "evt-1", Limit: 1000}, "limit from 1 to 200"},
		{"delivery_show", answer.DeliveryRequest{ID: "d1", Limit: 51}, "limit from 1 to 50"},
		{"why", answer.WhyRequest{Recipient: "CUSTOMER/7", Limit: 201}, "limit from 1 to 200"},
		{"why", answer.WhyRequest{}, "give delivery"},
		{"why", answer.WhyRequest{Recipient: "7"}, "CUSTOMER/7"},
		{"why", answer.WhyRequest{Recipient: "NOBODY/7", Event: "evt-1", Channel: "EMAIL"}, "user_type"},
		{"why", answer.WhyRequest{Recipient: "CUSTOMER/7", Channel: "PIGEON"}, "EMAIL"},
		{"simulate", answer.SimulateRequest{Type: "NEWS"}, "payload"},
		{"simulate", answer.SimulateRequest{Event: "none"}, "event list"},
		{"status", answer.StatusRequest{Hours: -1}, "744"},
		{"event_show", map[string]any{"id": 7}, "string"},
	} {
		result, text := d.call(tt.tool, tt.in)
		require.True(t, result.IsError, "%s: %s", tt.tool, text)
		require.Contains(t, text, tt.text, tt.tool)
	}
	d.store.Close()
	result, text := d.call("event_show", answer.EventRequest{ID: "evt-1"})
	require.True(t, result.IsError)
	require.Contains(t, text, "does not answer")
}
