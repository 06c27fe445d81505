package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/relay"
)

// withSources returns a starter's settings with a sources file that has this text.
func withSources(t *testing.T, text string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return map[string]string{
		"DATABASE_URL": "postgres://herald@localhost/herald", "OUTBOX_SOURCES": file,
		"ORDERS_DATABASE_URL": "postgres://herald:hunter2@localhost/orders",
	}
}

// herald returns Herald's own outbox, which is always the first source.
func herald() relay.Source {
	return relay.Source{
		Name: "herald", DatabaseURL: "postgres://herald@localhost/herald", PollInterval: time.Second, BatchSize: 100, Pollers: 1, Retries: 5,
		RetryInterval: 100 * time.Millisecond, People: true,
	}
}

func TestSources(t *testing.T) {
	t.Parallel()

	rome, err := time.LoadLocation("Europe/Rome")
	require.NoError(t, err)
	values := withSources(t, `
# the least, and all
- name: orders
  dialect: order-service
  table: orders.outbox
  kafka: { topic: order-events }
- name: wallet-2
  dialect: wallet-hub
  database_url_env: ORDERS_DATABASE_URL
  table: public.Outbox_1
  timezone: Europe/Rome
  poll_interval: 5s
  batch_size: 10
  pollers: 2
  kafka:
    topic: "{{.event_type}}-out-0"
    key: "{{.aggregate_id}}"
  retries: forever
  retry_interval: 1s
  people: true
  aggregate: { type: CUSTOMER, id_path: "customer.id, customerId" }
  retention: 720h
`)
	values["OUTBOX_POLL_INTERVAL"] = "2s"

	cfg, err := config.StarterFrom(values)

	require.NoError(t, err)
	own := herald()
	own.PollInterval = 2 * time.Second
	require.Equal(t, []relay.Source{
		own,
		{
			Name: "orders", Dialect: relay.OrderService, DatabaseURL: values["DATABASE_URL"], Table: "orders.outbox", Zone: time.UTC,
			PollInterval: 2 * time.Second, BatchSize: 500, Pollers: 1,
			Kafka: &relay.KafkaRoute{Topic: "order-events"}, Retries: 5, RetryInterval: 100 * time.Millisecond,
		},
		{
			Name: "wallet-2", Dialect: relay.WalletHub, DatabaseURL: values["ORDERS_DATABASE_URL"], Table: "public.Outbox_1", Zone: rome,
			PollInterval: 5 * time.Second, BatchSize: 10, Pollers: 2,
			Kafka: &relay.KafkaRoute{Topic: "{{.event_type}}-out-0", Key: "{{.aggregate_id}}"}, Retries: relay.RetryForever,
			RetryInterval: time.Second,
			People:        true, Aggregate: &relay.Aggregate{Type: "CUSTOMER", IDPath: "customer.id, customerId"}, Retention: 720 * time.Hour,
		},
	}, cfg.Sources)
}

// The retention of the entry replaces the setting.
func TestOwnOutboxAsSource(t *testing.T) {
	t.Parallel()

	values := withSources(t, "- { name: herald, kafka: { topic: \"herald.{{.event_type}}\" }, retries: 0, retention: 48h }")
	values["RETENTION_EVENTS"] = "720h"
	cfg, err := config.StarterFrom(values)

	require.NoError(t, err)
	require.Equal(t, 720*time.Hour, cfg.RetentionEvents)
	want := herald()
	want.Kafka, want.Retries, want.Retention = &relay.KafkaRoute{Topic: "herald.{{.event_type}}"}, 0, 48*time.Hour
	require.Equal(t, []relay.Source{want}, cfg.Sources)
}

// Herald's deliveries go to a topic or a webhook, always in the order of each delivery.
func TestLifecycleAsSource(t *testing.T) {
	t.Parallel()

	want := relay.Source{
		Name: "lifecycle", DatabaseURL: "postgres://herald@localhost/herald", Table: "lifecycle_event",
		Aggregate:    &relay.Aggregate{IDPath: "data.delivery_id,data.event_id,data.target"},
		PollInterval: time.Second, BatchSize: 500, Pollers: 1, Retries: 5, RetryInterval: 100 * time.Millisecond, Retention: 24 * time.Hour,
	}
	topic, webhook := want, want
	topic.Kafka = &relay.KafkaRoute{Topic: "herald.{{.event_type}}", Key: "{{.aggregate_id}}"}
	webhook.Webhook, webhook.Retries, webhook.Pollers, webhook.Retention = true, relay.RetryForever, 4, 48*time.Hour
	for text, want := range map[string]relay.Source{
		"- { name: lifecycle, kafka: { topic: \"herald.{{.event_type}}\" } }":                topic,
		"- { name: lifecycle, webhook: true, retries: forever, pollers: 4, retention: 48h }": webhook,
	} {
		cfg, err := config.StarterFrom(withSources(t, text))
		require.NoError(t, err)
		require.Equal(t, []relay.Source{herald(), want}, cfg.Sources)
	}
}

// The error names the line of each mistake.
func TestBadSources(t *testing.T) {
	t.Parallel()

	// orders is a valid entry of four lines.
	const orders = "- name: orders\n  dialect: order-service\n  table: orders.outbox\n  kafka: { topic: order-events }\n"
	tests := []struct{ name, text, want string }{
		{"empty", "", "line 1: it must be a list of sources"},
		{"an empty list", "[]", "line 1: it must be a list of sources"},
		{"a mapping", "name: orders", "line 1: it must be a list of sources"},
		{"two documents", orders + "---\n" + orders, "line 1: it must be one document"},
		{"no YAML", orders + "  kafka: [\n", "line 5: "},
		{"a word", "- orders", "line 1: string was used where mapping is expected"},
		{"an unknown key", orders + "  kakfa: {}", `line 5: unknown field "kakfa"; docs/outboxes.md lists the keys`},
		{"an unknown key of kafka", orders + "- { name: b, dialect: wallet-hub, table: a.b, kafka: { topic: t, partition: 1 } }",
			`line 5: unknown field "partition"`},
		{"a source that does nothing", "- name: c\n  dialect: order-service\n  table: a.c",
			"line 1: the source does nothing: give it `kafka:` or `people: true`, or both"},
		{"lifecycle without a destination", "- name: lifecycle", "line 1: lifecycle needs either `kafka:` or `webhook: true`"},
		{"lifecycle with two destinations", "- name: lifecycle\n  webhook: true\n  kafka: { topic: t }",
			"line 1: lifecycle needs either `kafka:` or `webhook: true`"},
		{"lifecycle in another order", "- name: lifecycle\n  kafka: { topic: t, key: k }",
			"line 2: lifecycle is written by Herald, so its entry has no key"},
		{"lifecycle of another service", "- name: lifecycle\n  dialect: wallet-hub\n  webhook: true",
			"line 2: lifecycle is written by Herald, so its entry has no dialect"},
		{"a webhook of another source", orders + "  webhook: true", "line 5: only the source lifecycle goes to a webhook"},
		{"a key twice", orders + "  table: a.b", `line 5: mapping key "table" already defined at [3:3]`},
		{"a name twice", orders + "\n" + strings.Replace(orders, "orders.o", "b.o", 1), "line 6: the source of line 1 has the same name"},
		{"herald twice", "- name: herald\n- name: herald", "line 2: the source of line 1 has the same name"},
		{"a table twice", orders + strings.Replace(orders, "orders", "b", 1), "line 7: source orders has the same table of the same database"},
		{"no name", "- dialect: order-service\n  table: a.b\n  people: true", "line 1: the source has no `name:`"},
		{"no dialect, no table", "- name: b\n  people: true",
			"line 1: dialect must be order-service or wallet-hub\nline 1: table must be schema.table, such as orders.outbox"},
		{"a name in capitals", strings.Replace(orders, "orders", "Orders", 1),
			"line 1: name must have 1 to 30 characters of a-z, 0-9 and -, and must not be outbox"},
		{"a long name", strings.Replace(orders, "orders", strings.Repeat("o", 31), 1), "line 1: name must have"},
		{"the name of pollers", strings.Replace(orders, "orders", "outbox", 1), "line 1: name must have"},
		{"a name that is null", strings.Replace(orders, "orders", "", 1), "line 1: the source has no `name:`"},
		{"an empty name", strings.Replace(orders, "orders", `" "`, 1), "line 1: name must have 1 to 30 characters"},
		{"another dialect", strings.Replace(orders, "order-service", "debezium", 1), "line 2: dialect must be order-service or wallet-hub"},
		{"a table without a schema", strings.Replace(orders, "orders.outbox", "outbox", 1), "line 3: table must be schema.table"},
		{"a quoted table", strings.Replace(orders, "orders.outbox", `'orders."outbox"'`, 1), "line 3: table must be schema.table"},
		{"an unset variable", orders + "  database_url_env: SHOP_DATABASE_URL", "line 5: SHOP_DATABASE_URL is not set in the environment"},
		{"a URL instead of a variable", orders + "  database_url_env: postgres://u:hunter2@h/d",
			"line 5: database_url_env must be the name of the variable"},
		{"another zone", orders + "  timezone: Mars/Olympus", "line 5: timezone must be the name of a zone"},
		{"the machine's zone", orders + "  timezone: Local", "line 5: timezone must be the name of a zone"},
		{"an interval without a unit", orders + "  poll_interval: 5", "line 5: poll_interval must be a duration from 100ms to 1m0s, such as 5s"},
		{"an interval too short", orders + "  poll_interval: 99ms", "line 5: poll_interval must be a duration from 100ms to 1m0s"},
		{"a batch too large", orders + "  batch_size: 1001", "line 5: batch_size must be a whole number from 1 to 1000"},
		{"half a batch", orders + "  batch_size: 1.5", "line 5: batch_size must be a whole number"},
		{"no pollers", orders + "  pollers: 0", "line 5: pollers must be a whole number from 1 to 16"},
		{"negative retries", orders + "  retries: -1", "line 5: retries must be a whole number from 0 to 100"},
		{"retries without end", orders + "  retries: always", "line 5: retries must be a whole number from 0 to 100, or forever"},
		{"retries too soon", orders + "  retry_interval: 1ms", "line 5: retry_interval must be a duration from 10ms to 1h0m0s"},
		{"people perhaps", orders + "  people: yes", "line 5: the value must be true or false"},
		{"rows for no time", orders + "  retention: 59m", "line 5: retention must be a duration from 1h0m0s"},
		{"kafka without a topic", "- { name: b, dialect: wallet-hub, table: a.b,\n kafka: { key: k } }", "line 2: kafka has no `topic:`"},
		{"kafka is a topic", "- { name: b, dialect: wallet-hub, table: a.b,\n kafka: t }", "line 2: string was used where mapping is expected"},
		{"a topic without quotes", "- { name: b, dialect: wallet-hub, table: a.b,\n kafka: { topic: {{.event_type}} } }", "line 2: "},
		{"no name for a topic", "- { name: b, dialect: wallet-hub, table: a.b,\n kafka: { topic: order events } }", "line 2: the topic"},
		{"an unknown field", "- { name: b, dialect: wallet-hub, table: a.b,\n kafka: { topic: \"{{.type}}\" } }",
			"line 2: render the template of the topic"},
		{"nothing to do", "- name: b\n  dialect: order-service\n  table: a.b",
			"line 1: the source does nothing: give it `kafka:` or `people: true`"},
		{"retries of nothing", "- name: b\n  dialect: order-service\n  table: a.b\n  people: true\n  retries: 3",
			"line 5: retries limits retries to Kafka"},
		{"people without an aggregate", "- { name: b, dialect: wallet-hub, table: a.b,\n people: true }",
			"line 2: Herald finds people by the aggregate"},
		{"two aggregates", orders + "  aggregate: { type: A, id_path: b }",
			"line 5: tables of order-service have an aggregate already: remove this one"},
		{"half an aggregate", "- { name: b, dialect: wallet-hub, table: a.b, people: true,\n aggregate: { type: A } }",
			"line 2: aggregate needs an `id_path:`"},
		{"an aggregate of two words", "- { name: b, dialect: wallet-hub, table: a.b, people: true,\n aggregate: { type: A B, id_path: c } }",
			"line 2: aggregate needs a `type:`, a word"},
		{"a path into nothing", "- { name: b, dialect: wallet-hub, table: a.b, people: true,\n aggregate: { type: A, id_path: c..d } }",
			"line 2: aggregate needs an `id_path:`: keys"},
		{"herald's table", "- name: herald\n  table: a.b", "line 2: herald is Herald's own outbox, so its entry has no table"},
	}
	for _, tt := range tests {
		values := withSources(t, tt.text)
		_, err := config.StarterFrom(values)

		require.ErrorContains(t, err, "settings: OUTBOX_SOURCES has mistakes, in "+values["OUTBOX_SOURCES"]+":\n"+tt.want, tt.name)
		require.Equal(t, strings.Count(tt.want, "\n")+2, len(strings.Split(err.Error(), "\n")), "%s: %v", tt.name, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// One error names all mistakes, also in the environment. But it names only the first unknown key
// or wrongly typed value of each entry.
func TestOneErrorNamesAllBadSources(t *testing.T) {
	t.Parallel()

	values := withSources(t, `- name: orders
  dialect: order
  database_url_env: ORDERS_DATABASE_URL
  table: outbox
  polling: 5s
  kafka: { topic: "{{.x}}", keys: a }
- name: orders
  dialect: wallet-hub
  database_url_env: CLEAR_DATABASE_URL
  table: public.outbox
  batch_size: many
`)
	values["ORDERS_DATABASE_URL"], values["CLEAR_DATABASE_URL"], values["OUTBOX_POLLERS"] = "mysql://u:hunter2@h/d",
		"postgres://u:hunter2@db/d", "0"
	_, err := config.StarterFrom(values)

	require.Error(t, err)
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if number, _, found := strings.Cut(line, ": "); found && strings.HasPrefix(number, "line ") {
			lines = append(lines, number)
		}
	}
	require.Equal(t, []string{"line 2", "line 4", "line 6", "line 7", "line 7", "line 11"}, lines, err)
	for _, fact := range []string{
		"OUTBOX_POLLERS must be from 1 to 16", "ORDERS_DATABASE_URL must be a Postgres URL",
		"CLEAR_DATABASE_URL leads to another host without encryption: it needs sslmode=require",
	} {
		require.ErrorContains(t, err, fact)
	}
	require.NotContains(t, err.Error(), "hunter2")
}

func TestSourcesFileIsMissing(t *testing.T) {
	t.Parallel()

	_, err := config.StarterFrom(map[string]string{"DATABASE_URL": "postgres://localhost", "OUTBOX_SOURCES": "/nowhere/sources.yaml"})
	require.EqualError(t, err, "settings: OUTBOX_SOURCES must be a file that can be read: no such file or directory")
}

// The example file in docs/outboxes.md is valid.
func TestSourcesOfTheDocument(t *testing.T) {
	t.Parallel()

	document, err := os.ReadFile("../../docs/outboxes.md")
	require.NoError(t, err)
	_, file, _ := strings.Cut(string(document), "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	values := withSources(t, file)
	values["WALLET_DATABASE_URL"] = "postgres://localhost/wallet"

	cfg, err := config.StarterFrom(values)

	require.NoError(t, err)
	require.Len(t, cfg.Sources, 3)
	for key := range strings.SplitSeq("name dialect database_url_env table timezone poll_interval batch_size pollers kafka retries "+
		"retry_interval people aggregate retention",
		" ") {
		require.Contains(t, string(document), "\n* `"+key+"`")
	}
}
