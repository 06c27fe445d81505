package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/relay/dialects/dialecttest"
	"herald/internal/relay/kafka/kafkatest"
)

// withSources returns a shell with two sources.
func withSources(t *testing.T) shell {
	t.Helper()
	c := withDatabase(t)
	addSources(t, c)
	return c
}

// addSources gives a shell's database an order service's outbox, without its indexes. The file of
// sources names it, and a wallet hub whose database is out of reach.
func addSources(t *testing.T, c shell) {
	t.Helper()
	c.exec(t, "CREATE SCHEMA orders; "+dialecttest.Orders("orders.outbox"))
	c.environment["WALLET_DATABASE_URL"] = "postgres://herald:verysecret@" + unreachable + "/wallet"
	c.environment["OUTBOX_SOURCES"] = filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(c.environment["OUTBOX_SOURCES"], []byte(`
- name: orders
  dialect: order-service
  table: orders.outbox
  kafka: { topic: order-events, key: "{{.aggregate_id}}" }
  retention: 720h
- name: wallet
  dialect: wallet-hub
  database_url_env: WALLET_DATABASE_URL
  table: public.outbox
  kafka: { topic: "{{.event_type}}-out-0" }
  retries: forever
`), 0o600))
}

func TestSourceList(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	out := c.must(t, "source", "list")
	for _, want := range []string{
		`herald +- +event_outbox +- +told +1s, 1 × 100 +- +-\n`,
		`orders +order-service +orders.outbox +5 from 100ms on +no +1s, 1 × 500 +720h0m0s +order-events by {{.aggregate_id}}\n`,
		`wallet +wallet-hub +public.outbox +forever +no +1s, 1 × 500 +- +{{.event_type}}-out-0\n`,
	} {
		require.Regexp(t, want, out)
	}
	listed := read[struct{ Sources []sourceView }](t, c, "source", "list")
	require.Len(t, listed.Sources, 3)
	require.Equal(t, "order-events", listed.Sources[1].Topic)
	require.NotContains(t, out+c.must(t, "source", "list", "-o", "json"), "verysecret")

	delete(c.environment, "OUTBOX_SOURCES")
	require.Len(t, read[struct{ Sources []sourceView }](t, c, "source", "list").Sources, 1)
}

// The check finds a missing topic before a row needs it, and --topics creates the topic.
func TestSourceTopics(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	c.must(t, "source", "migrate", "orders")
	require.Contains(t, c.run(t, "source", "migrate", "orders", "--topics").err, "--topics needs KAFKA_BROKERS")
	c.environment["KAFKA_BROKERS"] = kafkatest.NewCluster(t).Address
	got := c.run(t, "source", "check", "orders")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.out,
		"topic order-events of source orders: the brokers do not have it, or do not show it to Herald: UNKNOWN_TOPIC_OR_PARTITION")
	require.Contains(t, got.out, "run `starter source migrate orders --topics`")

	require.Contains(t, c.must(t, "source", "migrate", "orders", "--topics"), "created  topic order-events")
	require.Contains(t, c.must(t, "source", "check", "orders"), "no mistakes in source orders")
	require.Contains(t, c.must(t, "source", "migrate", "orders", "--topics"), "nothing to create")
	require.Len(t, c.actions(t, "source migrate"), 2, "indexes, and the topic")

	c.environment["KAFKA_BROKERS"] = "127.0.0.1:1"
	require.Contains(t, c.run(t, "source", "check", "orders").out, "setting KAFKA_BROKERS: the brokers did not list their topics: ")
}

func TestSourceCheckAndMigrate(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	got := c.run(t, "source", "check", "orders")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.out, "source orders orders.outbox: there is no index on status, created_at")
	require.Contains(t, got.out, "run `starter source migrate orders`, or as the table's owner: CREATE INDEX CONCURRENTLY")
	require.Contains(t, got.err, "next: correct them, and run `starter source check orders` again")

	out := c.must(t, "source", "migrate", "orders")
	require.Contains(t, out, "created  idx_outbox_status_created")
	require.Contains(t, out, "created  idx_outbox_aggregate")
	require.Contains(t, c.must(t, "source", "migrate", "orders"), "nothing to create: orders.outbox has all that it needs")
	require.Contains(t, c.must(t, "source", "check", "orders"), "no mistakes in source orders")
	require.Regexp(t, `source migrate +orders.outbox +source orders: idx_outbox_status_created, idx_o`, c.must(t, "audit"))
	require.Len(t, c.actions(t, "source migrate"), 1, "the second call changed nothing")

	c.exec(t, "ALTER TABLE orders.outbox DROP COLUMN sent_at")
	got = c.run(t, "check")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.out, "source orders orders.outbox: there is no column sent_at")
	require.Contains(t, got.out, "source wallet public.outbox: its database cannot be read")
}

// actions returns the targets of a command's recorded actions.
func (c shell) actions(t *testing.T, command string) []string {
	t.Helper()
	return postgrestest.List(t, c.store(t), "SELECT target FROM operator_action WHERE command = $1", command)
}

// If one source's database does not answer, the commands still serve the other sources.
func TestSourceOutOfReach(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	got := c.run(t, "source", "check")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.out, "source orders orders.outbox: there is no index")
	require.Contains(t, got.out, "source wallet public.outbox: its database cannot be read")
	require.Contains(t, got.out, "`database_url_env:`")

	migrated := c.fails(t, failed, "next: start the database, or set the variable", "source", "migrate", "wallet")
	require.NotContains(t, got.out+got.err+migrated.err, "verysecret")
}

// Without ownership of the table, the error says which SQL the owner must run.
func TestSourceMigrateWithoutOwnership(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	c.exec(t, "GRANT USAGE ON SCHEMA orders TO pg_monitor")
	c.environment["WALLET_DATABASE_URL"] = c.environment["DATABASE_URL"] + "&role=pg_monitor"
	file := c.environment["OUTBOX_SOURCES"]
	text := must(os.ReadFile(file))(t)
	require.NoError(t, os.WriteFile(file,
		[]byte(strings.Replace(string(text), "table: orders.outbox", "table: orders.outbox\n  database_url_env: WALLET_DATABASE_URL", 1)), 0o600))

	got := c.fails(t, failed, "must be owner of table outbox", "source", "migrate", "orders")
	require.Contains(t, got.err, `next: have the table's owner run: CREATE INDEX CONCURRENTLY "idx_outbox_status_created"`)
}

func TestSourceNames(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	require.Equal(t, []string{"orders", "wallet"}, completed(t, c, "source", "check", ""))
	require.Equal(t, []string{"wallet"}, completed(t, c, "source", "check", "orders", ""))
	require.Equal(t, []string{"orders"}, completed(t, c, "source", "migrate", "or"))
	require.Empty(t, completed(t, c, "source", "migrate", "orders", ""))

	for name, want := range map[string]string{
		"order":  `there is no source "order": the sources are herald, orders, wallet`,
		"herald": "herald is Herald's own outbox and has no topic: see `starter migrate status`",
	} {
		c.fails(t, calledWrong, want, "source", "migrate", name)
	}
	delete(c.environment, "OUTBOX_SOURCES")
	require.Contains(t, c.run(t, "source", "check", "orders").err, `there is no source "orders": the sources are herald`)
	got := c.run(t, "source", "check")
	require.Equal(t, succeeded, got.code)
	require.Contains(t, got.err, "lists no outbox of another service")
}

// A mistake in the sources file makes every command fail. The error has one line for each mistake.
func TestBadSourcesFile(t *testing.T) {
	t.Parallel()

	c := withSources(t)
	require.NoError(t, os.WriteFile(c.environment["OUTBOX_SOURCES"], []byte("- name: orders\n  kafka: {}\n"), 0o600))
	c.fails(t, failed,
		"\n  line 1: dialect must be order-service or wallet-hub\n  line 1: table must be schema.table, such as orders.outbox, without "+
			"quotes\n  line 2: kafka has no `topic:`\n",
		"source", "list")
}
