package e2e_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/config/secret"
	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/purge"
	"herald/internal/receipts"
	"herald/internal/relay"
	"herald/migrations"
	"herald/outbox"
)

// The roles of docs/roles.md have sufficient permissions: the migrator migrates, the worker
// delivers the whole example, the operator reads, repairs and purges, the gateway serves recipients,
// and the producer can only insert.
func TestRoles(t *testing.T) {
	t.Parallel()

	r := newRoles(t)
	steps := runnable(t, "docs/roles.md")
	require.Len(t, steps, 4, "a step of docs/roles.md that this test does not know")
	r.sql("", steps[0])
	r.setPasswords()
	require.Equal(t, "DATABASE_URL=postgres://herald_migrator@… bin/starter migrate up\n", steps[1])
	r.as("migrator", "migrate", "up")
	require.Equal(t, "psql postgres://herald_migrator@… -v ON_ERROR_STOP=1 -f docs/roles.sql\n", steps[2])
	r.sql("migrator", string(must(os.ReadFile("../../docs/roles.sql"))(t)))
	r.as("migrator", "seed", "--slack-url", r.sandbox.URL)

	r.env = append(r.env, "DATABASE_URL="+r.address("worker"))
	r.startWorker()
	r.as("operator", "poller", "start")
	r.programAs("operator", "demo", "--sandbox-url", r.sandbox.URL)
	r.limitsAmounts()
	r.producerInsertsOnly()
	r.gatewayServes()
	r.gatewayReadsNoMail()
	r.operatorOperates()
	r.operatorPlansRules()
	r.workerAdopts()
	r.workerDeletesNothing()
	r.sql("migrator", steps[3])
	r.workerDeletes()
}

// operatorPlansRules exports the rules and plans a change. The migrator applies it.
func (r *roles) operatorPlansRules() {
	r.t.Helper()
	folder := filepath.Join(r.t.TempDir(), "rules")
	r.as("operator", "rules", "export", folder)
	require.Equal(r.t, "no difference\n", r.as("operator", "rules", "plan", folder, "--prune"))
	alert := []byte("channels: { EMAIL: { delay: 1 hour, delivery_strategy: DELAYED } }\n")
	require.NoError(r.t, os.WriteFile(filepath.Join(folder, "SYSTEM_ALERT.yaml"), alert, 0o644))
	const compared = `[1-9]\d* of \d+ events of the last 24 hours would be decided differently: .*SYSTEM_ALERT`
	out, err := r.with("DATABASE_URL="+r.address("operator")).tryProgram("starter", "rules", "plan", folder, "--prune")
	require.Error(r.t, err, "the exit code says that there is a difference")
	require.Regexp(r.t, compared, out)
	require.Regexp(r.t, compared, r.as("migrator", "rules", "apply", folder, "--prune", "--reason", "a test"))
}

// limitsAmounts sends an event that needs approval. Its channels have a cap, a throttle window, and a
// digest that sends its first item at once.
func (r *roles) limitsAmounts() {
	recall := r.name + "-recall"
	r.sql("", `
		INSERT INTO event_type_channel_routing (event_type, channel_type, throttle_window) VALUES ('RECALL', 'EMAIL', '1 hour');
		INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_first)
		       VALUES ('RECALL', 'SMS', 'AGGREGATE', true);
		INSERT INTO frequency_cap (channel_type, at_most, per) VALUES ('EMAIL', 100, '1 day');
		INSERT INTO event_type_approval (event_type, over) VALUES ('RECALL', 0);
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		       VALUES ('`+recall+`', 'RECALL', 'CUSTOMER', '42', '{}')`)
	r.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'AWAITING_APPROVAL'`, recall)
	r.as("operator", "event", "approve", recall)
	r.awaitCount(2, `SELECT count(*) FROM notification WHERE event_id = $1 AND status IN ('SENT', 'DELIVERED')`, recall)
}

// roles is an installation whose roles have a suffix, because all databases of a server share
// its roles.
type roles struct {
	*system
	suffix string
	admin  string // the database's address with its owner
}

const rolePassword = "local"

func newRoles(t *testing.T) *roles {
	t.Helper()
	r := &roles{suffix: "_" + randomWord(8)}
	t.Cleanup(r.drop) // runs last
	r.system = newSystem(t)
	r.admin = r.servers.databaseURL
	r.sql("", "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	return r
}

var roleNames = []string{"migrator", "worker", "gateway", "producer", "operator"}

// own replaces the document's roles with this installation's roles.
func (r *roles) own(text string) string {
	for _, name := range roleNames {
		text = strings.ReplaceAll(text, "herald_"+name, "herald_"+name+r.suffix)
	}
	return text
}

func (r *roles) address(role string) string {
	if role == "" {
		return r.admin
	}
	parsed := must(url.Parse(r.admin))(r.t)
	parsed.User = url.UserPassword(r.own("herald_"+role), rolePassword)
	return parsed.String()
}

// try runs SQL as a role, or as the owner of the database if role is empty.
func (r *roles) try(role, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config := must(pgx.ParseConfig(withoutPoolSize(r.t, r.address(role))))(r.t)
	conn := must(pgx.ConnectConfig(ctx, config))(r.t)
	defer func() { _ = conn.Close(ctx) }()
	_, err := conn.PgConn().Exec(ctx, r.own(sql)).ReadAll()
	return err
}

func (r *roles) sql(role, sql string) {
	r.t.Helper()
	require.NoError(r.t, r.try(role, sql))
}

func (r *roles) denied(role, sql string) {
	r.t.Helper()
	require.ErrorContains(r.t, r.try(role, sql), "permission denied", "%s: %s", role, sql)
}

func (r *roles) setPasswords() {
	for _, name := range roleNames {
		r.sql("", "ALTER ROLE herald_"+name+" PASSWORD '"+rolePassword+"'")
	}
}

func (r *roles) drop() {
	if r.system == nil { // no database was created
		return
	}
	var names []string
	for _, name := range roleNames {
		names = append(names, r.own("herald_"+name))
	}
	dropRoles(r.t, r.servers.databaseURL, names...)
}

// dropRoles drops roles. First it drops the database in which they have permissions, because the tests
// keep their databases until the end.
func dropRoles(t *testing.T, address string, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	database := must(pgx.ParseConfig(withoutPoolSize(t, address)))(t)
	conn := must(pgx.Connect(ctx, os.Getenv("DATABASE_URL")))(t)
	defer func() { _ = conn.Close(ctx) }()
	statements := []string{"DROP DATABASE IF EXISTS " + pgx.Identifier{database.Database}.Sanitize() + " WITH (FORCE)"}
	for _, name := range names {
		statements = append(statements, "DROP ROLE IF EXISTS "+name)
	}
	for _, statement := range statements {
		must(conn.Exec(ctx, statement))(t)
	}
}

// as runs the operator's command with the database role.
func (r *roles) as(role string, args ...string) string {
	r.t.Helper()
	return r.programAs(role, "starter", args...)
}

func (r *roles) programAs(role, program string, args ...string) string {
	r.t.Helper()
	return r.with("DATABASE_URL="+r.address(role)).program(program, args...)
}

func (r *roles) producerInsertsOnly() {
	insert := "INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id) VALUES ('" +
		r.name + "-evt', 'RESERVATION_CONFIRMED', 'CUSTOMER', '42', '{}', 'order-1')"
	r.sql("producer", insert)
	r.sql("producer", insert+" ON CONFLICT DO NOTHING")
	r.awaitDeliveries(r.name+"-evt", "SENT", 4)
	for _, sql := range []string{
		insert + " RETURNING event_id",
		"INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status) VALUES ('x', 'T', 'CUSTOMER', '42', " +
			"'{}', 'PROCESSED')",
		"INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, cancels) VALUES ('x', 'T', 'CUSTOMER', '42', " +
			"'{}', 'y')",
		"SELECT FROM event_outbox", "UPDATE event_outbox SET status = 'PENDING'", "DELETE FROM event_outbox", "TRUNCATE event_outbox",
		"SELECT FROM recipient", "SELECT FROM notification", "INSERT INTO processed_event (event_id) VALUES ('x')",
		"CREATE TABLE mine (n int)",
	} {
		r.denied("producer", sql)
	}
	event := outbox.Event{
		ID: "x", Type: "T", AggregateType: "CUSTOMER", AggregateID: "42", Payload: struct{}{}, ExpiresAt: time.Now().Add(time.Hour),
		CollapseKey: "order-7",
	}
	require.NoError(r.t, r.insertInVain(event))
	event.Cancels = "y"
	require.ErrorContains(r.t, r.insertInVain(event), "permission denied")
}

// insertInVain writes an event through the Go package as a producer, and rolls it back.
func (r *roles) insertInVain(event outbox.Event) error {
	conn := must(pgx.Connect(r.t.Context(), withoutPoolSize(r.t, r.address("producer"))))(r.t)
	defer func() { _ = conn.Close(r.t.Context()) }()
	tx := must(conn.Begin(r.t.Context()))(r.t)
	defer func() { _ = tx.Rollback(r.t.Context()) }()
	return outbox.Insert(r.t.Context(), tx, event)
}

func (r *roles) gatewayServes() {
	ctx := r.t.Context()
	browsers, webhooks, err := db.OpenTwo(ctx, withoutPoolSize(r.t, r.address("gateway")), "herald-gateway", "herald-webhooks")
	require.NoError(r.t, err)
	defer browsers.Close()
	defer webhooks.Close()
	browsers.UseSecrets(secret.Address(heraldSecret), secret.Address(""))
	require.NoError(r.t, migrate.Usable(ctx, browsers, migrations.FS))

	customer := notification.RecipientKey{UserType: notification.Customer, UserID: "42"}
	page := must(inbox.On(browsers).InboxPage(ctx, customer, notification.InboxFilter{Unread: true, Limit: 1}))(r.t)
	require.Len(r.t, page.Items, 1)
	id := int64(page.Items[0].NotificationID)
	must(inbox.On(browsers).InboxAfter(ctx, customer, notification.InboxPosition{}, true, 1))(r.t)
	must(inbox.On(browsers).UnreadPosition(ctx, customer, 1))(r.t)
	must(inbox.On(browsers).Unread(ctx, customer))(r.t)
	require.NoError(r.t, inbox.On(browsers).MarkDelivered(ctx, []notification.Acknowledgement{{ID: id, RecipientKey: customer}}))
	require.NoError(r.t, inbox.On(browsers).MarkRead(ctx, customer, id))
	require.NoError(r.t, inbox.On(browsers).MarkAllRead(ctx, customer, id))
	active := must(inbox.On(browsers).ActiveRecipients(ctx, []notification.RecipientKey{customer}))(r.t)
	require.Len(r.t, active, 1)
	preferences := must(preference.On(browsers).Preferences(ctx, customer))(r.t)
	preferences.Timezone = "America/New_York"
	require.NoError(r.t, preference.On(browsers).SetPreferences(ctx, customer, preferences))
	require.NoError(r.t, preference.On(browsers).Unsubscribe(ctx, customer, "reminders", notification.Email))
	mail := r.name + "-evt-customer42-EMAIL"
	recorded, err := receipts.On(browsers).RecordReceipts(ctx, []notification.Receipt{{
		Provider: "sendgrid", ID: "r-1", DeliveryID: mail, At: time.Now(), Word: "bounce", Address: "gone@example.com",
		Status: notification.Failed, Suppress: notification.SuppressedBounce, Unsubscribes: true,
	}})
	require.NoError(r.t, err)
	require.Equal(r.t, notification.Email, recorded[0].Channel)
	require.NoError(r.t, receipts.On(browsers).RecordOptOut(ctx, notification.OptOut{MessageID: "SM1", Number: "+393401234567"}))
	require.NoError(r.t, receipts.On(browsers).RecordOptOut(ctx, notification.OptOut{MessageID: "SM2", Number: "+393401234567", Lifted: true}))
	later := time.Now().Add(time.Hour)
	require.NoError(r.t, inbox.On(browsers).NewTicket(ctx, []byte("hash"), customer, later, later))
	_, _, err = inbox.On(browsers).UseTicket(ctx, []byte("hash"))
	require.NoError(r.t, err)

	for _, sql := range []string{
		"SELECT email FROM recipient", "SELECT phone FROM recipient", "SELECT recipient_address FROM notification",
		"SELECT payload FROM event_outbox",
		"DELETE FROM notification", "UPDATE notification SET title = 'x'", "UPDATE notification SET status = 'SENT'",
		"UPDATE notification_state SET user_id = 'x'", "INSERT INTO notification (event_id) VALUES ('x')", "UPDATE recipient SET active = true",
		"UPDATE event_type_channel_routing SET mandatory = false", "SELECT FROM operator_action", "SELECT FROM preference_change",
		"CREATE TABLE mine (n int)",
	} {
		r.denied("gateway", sql)
	}
}

// gatewayReadsNoMail requires that a gateway cannot read the texts of other channels, and can
// remove only opt-outs.
func (r *roles) gatewayReadsNoMail() {
	count := func(role, sql string) (n int) {
		config := must(pgx.ParseConfig(withoutPoolSize(r.t, r.address(role))))(r.t)
		conn := must(pgx.ConnectConfig(r.t.Context(), config))(r.t)
		defer func() { _ = conn.Close(r.t.Context()) }()
		require.NoError(r.t, conn.QueryRow(r.t.Context(), sql).Scan(&n))
		return n
	}
	const mails, live = "SELECT count(title || body) FROM notification WHERE channel <> " +
		"'WEBSOCKET'", "SELECT count(title || body) FROM notification"
	require.Positive(r.t, count("worker", mails))
	require.Zero(r.t, count("gateway", mails))
	require.Positive(r.t, count("gateway", live))
	require.Positive(r.t, count("gateway", "SELECT count(*) FROM notification_state WHERE channel = 'EMAIL'"))
	r.sql("worker",
		"INSERT INTO recipient_suppression (channel, address_hash, reason) SELECT 'SMS', sha256('a'), unnest(ARRAY['OPT_OUT', 'COMPLAINT'])")
	r.sql("gateway", "DELETE FROM recipient_suppression WHERE address_hash = sha256('a')")
	require.Equal(r.t, 1,
		count("worker", "SELECT count(*) FROM recipient_suppression WHERE address_hash = sha256('a') AND reason = 'COMPLAINT'"))
	require.Equal(r.t, 1, count("worker", "SELECT count(*) FROM recipient_suppression WHERE address_hash = sha256('a')"))
}

func (r *roles) operatorOperates() {
	r.as("operator", "status")
	r.as("operator", "migrate", "status")
	r.as("operator", "event", "show", r.name+"-evt")
	r.as("operator", "delivery", "why", r.name+"-evt-customer42-EMAIL")
	r.as("operator", "delivery", "retry", r.name+"-evt-customer42-EMAIL", "--again")
	r.as("operator", "emit", "--type", "MENU_UPDATED", "--aggregate-type", "RESTAURANT", "--aggregate-id", "5", "--payload", "{}",
		"--event-id", r.name+"-menu")
	r.sql("migrator", `
		UPDATE notification SET created_at = now() - interval '40 days', sent_at = now() - interval '40 days' WHERE event_id LIKE 'demo-%';
		UPDATE processed_event SET updated_at = now() - interval '40 days' WHERE event_id LIKE 'demo-%'`)
	r.as("operator", "purge", "--older-than", "30d", "--yes")
	require.Zero(r.t, r.count("SELECT count(*) FROM notification WHERE event_id LIKE 'demo-%-confirmed'"))
	r.sql("migrator", "UPDATE preference_change SET at = now() - interval '40 days'")
	r.denied("operator", "UPDATE preference_change SET new_value = 'x'")
	require.Regexp(r.t, `preference_change .+ [1-9]\d*\n`, r.as("operator", "purge", "--preference-changes", "30d", "--yes"))
	r.denied("operator", "DELETE FROM operator_action")
	r.denied("operator", "INSERT INTO operator_action (actor, command, target, db_user) VALUES ('eve', 'purge', 'x', 'ada')")
	require.Contains(r.t, r.as("operator", "audit", "-o", "json"), `"db_user": "`+r.own("herald_operator")+`"`)
	r.sql("operator", "UPDATE herald_secret SET rekeyed_at = NULL; DELETE FROM herald_secret WHERE superseded_at IS NOT NULL")
	r.denied("operator", "UPDATE recipient SET email = 'x'")
	r.as("operator", "recipient", "merge", "CUSTOMER/42", "CUSTOMER/43", "--yes")
	r.as("operator", "recipient", "export", "CUSTOMER/42", "--yes")
	r.as("operator", "recipient", "erase", "CUSTOMER/42", "--yes")
	require.Zero(r.t, r.count("SELECT count(*) FROM recipient WHERE (user_type, user_id) = ('CUSTOMER', '42')"))
	require.ErrorContains(r.t, r.try("operator", "DROP TABLE notification"), "must be owner")
}

func (r *roles) workerAdopts() {
	adopting := must(db.Open(r.t.Context(), withoutPoolSize(r.t, r.address("worker")), "adopting"))(r.t)
	defer adopting.Close()
	must(relay.On(adopting).Adopt(r.t.Context(), "orders",
		[]relay.AdoptedEvent{{ID: r.name + "-order", Type: "ORDER_PAID", Payload: []byte("{}")}}))(r.t)
	require.NoError(r.t, relay.On(adopting).KeepRows(r.t.Context(), "orders", []relay.KnownRow{{Key: "1", EventID: "e"}}))
	require.NoError(r.t, relay.On(adopting).ForgetRows(r.t.Context(), "orders", []string{"1"}))
	require.NoError(r.t,
		relay.On(adopting).BackOffTopic(r.t.Context(), "orders", relay.TopicBackOff{Topic: "t", Wait: time.Second, Error: "of a test"}))
	require.NoError(r.t, relay.On(adopting).EndBackOffs(r.t.Context(), "orders", []string{"t"}))
}

// workerDeletes requires that the additional grants allow deletion from all tables.
func (r *roles) workerDeletes() {
	cleaning := must(db.Open(r.t.Context(), withoutPoolSize(r.t, r.address("worker")), "cleaning"))(r.t)
	defer cleaning.Close()
	for _, table := range []purge.Table{
		purge.Outbox, purge.Processed, purge.Notifications, purge.Receipts, purge.Decisions, purge.Actions, purge.Preferences,
	} {
		require.NoError(r.t,
			purge.TableCleaner{Store: cleaning, Table: table, HasTopic: true}.Clean(r.t.Context(), 0, "", func(int, string) bool { return true }),
			table)
	}
	require.Zero(r.t, r.count("SELECT count(*) FROM operator_action"))
}

func (r *roles) workerDeletesNothing() {
	for _, sql := range []string{
		"DELETE FROM notification", "DELETE FROM event_outbox", "TRUNCATE delivery_attempt", "UPDATE recipient SET email = 'x'",
		"UPDATE recipient_device SET token = 'x'",
		"INSERT INTO event_type_recipients (event_type, entity_type) VALUES ('T', 'ADMIN')", "DELETE FROM operator_action",
		"CREATE TABLE mine (n int)",
	} {
		r.denied("worker", sql)
	}
}
