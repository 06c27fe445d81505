package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.temporal.io/api/serviceerror"

	"herald/internal/db/postgrestest"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/relay/kafka/kafkatest"
)

// writeChecks writes what TestCheckPrints compares.
var writeChecks = flag.Bool("write-checks", false, "write testdata/check/*.golden")

// TestCheckPrints makes as many mistakes at once as one installation can have, and compares all that
// `starter check` prints with testdata/check/. A script of a case's name makes its mistakes.
func TestCheckPrints(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name     string
		prepare  func(t *testing.T, c shell) // nil: the script does
		changes  map[string]string           // to the environment
		database string                      // parameters of DATABASE_URL
		temporal temporalServer
		json     bool // compare the JSON, too
	}{
		{name: "rules", json: true, changes: map[string]string{
			"SENDGRID_BASE_URL": "http://" + unreachable, "TWILIO_ACCOUNT_SID": "", "TWILIO_AUTH_TOKEN": "", "FCM_PROJECT_ID": "",
		}},
		{name: "views", changes: map[string]string{"EMAIL_FROM": "nobody"}},
		{name: "columns"},
		{name: "inactive", changes: map[string]string{
			"RABBITMQ_URL": "amqp://guest:guest@" + unreachable + "/", "GOOGLE_APPLICATION_CREDENTIALS": "nowhere.json",
		}},
		{name: "ahead"},
		{name: "behind", database: "&synchronous_commit=off&search_path=public,pg_catalog"},
		{name: "empty"},
		{name: "unnamed", prepare: seeded, database: "&search_path=%24user"},
		{name: "unreachable", prepare: seeded, changes: map[string]string{
			"DATABASE_URL": "postgres://herald@" + unreachable + "/herald", "TEMPORAL_ADDRESS": unreachable,
		}},
		{name: "sources", prepare: mistakeSources, json: true, temporal: temporalServer{idle: true}},
		{name: "brokers", prepare: mistakeBrokers, temporal: temporalServer{fresh: true}},
		{name: "worker", prepare: seeded, temporal: temporalServer{paused: true}},
		{name: "forbidden", prepare: seeded, temporal: temporalServer{refusal: serviceerror.NewPermissionDenied("no right", "")}},
		{name: "failing", prepare: mistrusted, temporal: temporalServer{refusal: serviceerror.NewFailedPrecondition("no shard")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			c := withProvider(t)
			if tt.prepare == nil {
				tt.prepare = runScript(tt.name)
			}
			tt.prepare(t, c)
			if !tt.temporal.idle && !tt.temporal.fresh && !tt.temporal.paused && tt.temporal.refusal == nil {
				tt.temporal.refusal = serviceerror.NewNamespaceNotFound("default")
			}
			c.environment["TEMPORAL_ADDRESS"] = tt.temporal.serve(t)
			c.environment["DATABASE_URL"] += tt.database
			maps.Copy(c.environment, tt.changes)
			requirePrinted(t, tt.name+".golden", c.run(t, "check"))
			if tt.json {
				requirePrinted(t, tt.name+".json.golden", c.run(t, "check", "-o", "json"))
			}
		})
	}
}

// withProvider returns a shell whose providers answer.
func withProvider(t *testing.T) shell {
	t.Helper()
	provider := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(provider.Close)
	c := withDatabase(t)
	maps.Copy(c.environment, map[string]string{
		"SENDGRID_BASE_URL": provider.URL, "SENDGRID_API_KEY": "SG.check", "EMAIL_FROM": "herald@example.com",
		"TWILIO_BASE_URL": provider.URL, "TWILIO_ACCOUNT_SID": "AC0", "TWILIO_AUTH_TOKEN": "check", "TWILIO_FROM": "+15005550006",
		"FCM_BASE_URL": provider.URL + "/v1", "FCM_PROJECT_ID": "herald-check",
		"SLACK_ALLOWED_HOSTS":   strings.TrimPrefix(provider.URL, "http://"),
		"WEBHOOK_ALLOWED_HOSTS": "hooks.example.com", "WEBHOOK_SECRET": "whsec_aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg==",
	})
	return c
}

// seeded loads the example, which has no mistakes.
func seeded(t *testing.T, c shell) {
	t.Helper()
	c.must(t, "seed", "--slack-url", "http://"+c.environment["SLACK_ALLOWED_HOSTS"])
}

// mistrusted loads the example, with a provider whose certificate is unknown.
func mistrusted(t *testing.T, c shell) {
	t.Helper()
	seeded(t, c)
	provider := httptest.NewUnstartedServer(http.NotFoundHandler())
	provider.Config.ErrorLog = log.New(io.Discard, "", 0)
	provider.StartTLS()
	t.Cleanup(provider.Close)
	c.environment["TWILIO_BASE_URL"] = provider.URL
}

// runScript returns a function that loads the example and runs a script in testdata/check/.
func runScript(name string) func(t *testing.T, c shell) {
	return func(t *testing.T, c shell) {
		t.Helper()
		seeded(t, c)
		c.exec(t, string(must(os.ReadFile(filepath.Join("testdata", "check", name+".sql")))(t)))
	}
}

// mistakeSources gives a shell outboxes and topics that cannot be used, and a role whose commits can be
// lost.
func mistakeSources(t *testing.T, c shell) {
	t.Helper()
	addSources(t, c)
	cluster := kafkatest.NewCluster(t, kfake.NumBrokers(3))
	c.environment["KAFKA_BROKERS"] = cluster.Address
	var sources strings.Builder
	for _, topic := range []struct {
		name                string
		replicas, minInSync int
	}{{"alone", 1, 1}, {"brittle", 3, 3}, {"safe", 3, 2}, {"stuck", 2, 3}} {
		settings := map[string]string{"min.insync.replicas": strconv.Itoa(topic.minInSync)}
		kafkatest.CreateReplicated(t, cluster.Address, topic.name, int16(topic.replicas), settings)
		fmt.Fprintf(&sources, "- { name: %[1]s, dialect: order-service, table: orders.%[1]s, kafka: { topic: %[1]s } }\n", topic.name)
	}
	file := must(os.OpenFile(c.environment["OUTBOX_SOURCES"], os.O_APPEND|os.O_WRONLY, 0))(t)
	must(file.WriteString(sources.String()))(t)
	require.NoError(t, file.Close())
	producer, db := "herald_test_"+strings.ToLower(rand.Text()), c.store(t)
	postgrestest.Exec(t, db, "CREATE ROLE "+producer+"; ALTER ROLE "+producer+" SET synchronous_commit = off")
	postgrestest.Exec(t, db, "GRANT INSERT (event_id) ON event_outbox TO "+producer)
	t.Cleanup(func() {
		must(db.Pool.Exec(context.Background(), "DROP OWNED BY "+producer+"; DROP ROLE "+producer))(t)
	})
	postgrestest.Exec(t, db, `
		CREATE TRIGGER lifecycle AFTER INSERT ON notification FOR EACH ROW EXECUTE FUNCTION write_delivery_lifecycle();
		INSERT INTO source_topic (source, topic, error, resting_since, next_attempt_at)
		VALUES ('wallet', 'paid-out-0', 'MESSAGE_TOO_LARGE', now() - interval '1 hour', now())`)
}

// mistakeBrokers gives a shell Kafka brokers that do not answer, and a RabbitMQ with one queue of other
// settings.
func mistakeBrokers(t *testing.T, c shell) {
	t.Helper()
	seeded(t, c)
	addSources(t, c)
	c.environment["KAFKA_BROKERS"] = unreachable
	vhost := rabbitmqtest.Shared(t).VHost(t)
	must(vhost.Dial(t).QueueDeclare("notification.admin", false, false, false, false, nil))(t)
	c.environment["RABBITMQ_URL"] = vhost.URL
}

// varying matches what differs from run to run.
var varying = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d{2,}`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`herald_test_\w+`), "ROLE"},
	{regexp.MustCompile(`vhost 'test-\w+'`), "vhost 'TEST'"},
	{regexp.MustCompile(`1h0m\d+s`), "1h0m0s"},
}

// requirePrinted compares what a command printed with a file.
func requirePrinted(t *testing.T, name string, got printed) {
	t.Helper()
	output := fmt.Sprintf("%sexit code %d\n", got.out, got.code)
	for _, v := range varying {
		output = v.form.ReplaceAllString(output, v.as)
	}
	path := filepath.Join("testdata", "check", name)
	if *writeChecks {
		require.NoError(t, os.WriteFile(path, []byte(output), 0o600))
	}
	require.Equal(t, string(must(os.ReadFile(path))(t)), output, got.err)
}
