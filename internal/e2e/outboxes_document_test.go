package e2e_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/outboxes/kafka/kafkatest"
)

// adopter follows docs/outboxes.md with two services in one database. Herald has a separate role
// in it.
type adopter struct {
	*system
	services business
	role     string
	address  string // of the services' database, with Herald's role
}

func newAdopter(t *testing.T, broker string) *adopter {
	t.Helper()
	role := "herald_" + randomWord(8)
	address := ""
	t.Cleanup(func() { dropRoles(t, address, role) }) // after the database is gone
	services, settings := newBusiness(t)
	services.exec("ALTER TABLE wallet_outbox RENAME TO outbox")
	address = withoutPoolSize(t, strings.TrimPrefix(settings[1], "BUSINESS_DATABASE_URL="))
	parsed := must(url.Parse(address))(t)
	parsed.User = url.UserPassword(role, rolePassword)
	return &adopter{newSystem(t, "KAFKA_BROKERS="+broker), services, role, parsed.String()}
}

// shell runs a block of the document, and returns its output.
func (n *adopter) shell(block string) (string, error) {
	cmd := exec.CommandContext(n.t.Context(), "bash", "-ec", block)
	cmd.Env = append(n.env, "PATH="+binaries+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// owner runs the CREATE INDEX statements of the findings as the table's owner.
func (n *adopter) owner(findings string) {
	for _, statement := range regexp.MustCompile(`CREATE INDEX CONCURRENTLY .+\)`).FindAllString(findings, -1) {
		n.services.exec(statement)
	}
}

// blockWith returns the only block of docs/outboxes.md that contains a text.
func blockWith(t *testing.T, text string) string {
	t.Helper()
	var found []string
	for _, block := range codeBlocks(t, "docs/outboxes.md") {
		if strings.Contains(block.text, text) {
			found = append(found, block.text)
		}
	}
	require.Len(t, found, 1, text)
	return found[0]
}

// TestOutboxesDocument follows docs/outboxes.md like a newcomer. Herald's role has only the
// permissions from the document.
func TestOutboxesDocument(t *testing.T) {
	t.Parallel()

	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "order-events", map[string]string{"max.message.bytes": "1000"})
	kafkatest.CreateTopic(t, cluster.Address, "FundsAdded-out-0", nil)
	n := newAdopter(t, cluster.Address)
	n.starter("migrate", "up")
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(blockWith(t, "database_url_env: WALLET"), "name: wallet", "name: "+n.services.wallet, 1)), 0o600))
	for statement := range strings.SplitSeq(strings.TrimSpace(blockWith(t, "CREATE ROLE herald")), ";\n") {
		n.services.exec(strings.NewReplacer("herald", n.role, "…", rolePassword).Replace(statement))
	}
	printed, err := n.shell(strings.NewReplacer("sources.yaml", file, "postgres://herald:…@orders-db:5432/orders?sslmode=verify-full", n.address, "postgres://…", n.address).Replace(blockWith(t, "export OUTBOX_SOURCES")) + "env")
	require.NoError(t, err, printed)
	for line := range strings.Lines(printed) {
		if name, _, _ := strings.Cut(line, "="); name == "OUTBOX_SOURCES" || strings.HasSuffix(name, "S_DATABASE_URL") || name == "WALLET_DATABASE_URL" {
			n.env = append(n.env, strings.TrimSpace(line))
		}
	}

	require.Contains(t, n.starter("source", "list"), "orders.outbox")
	n.fails(1, "source orders orders.outbox: there is no index on status, created_at", "source", "check")
	n.fails(1, "must be owner", "source", "migrate", "orders")
	found, _ := n.tryStarter("source", "check")
	n.owner(found)
	require.Contains(t, n.starter("source", "check"), "no mistakes")

	n.startAll()
	n.services.exec(`
		INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		SELECT 'Order', 'OrderCreated', payload, 'NEW', timezone('UTC', now())
		FROM   (VALUES ('{}'), ((SELECT string_agg(md5(n::text), '') FROM generate_series(1, 100) AS n))) AS row (payload)`)
	n.services.exec(`INSERT INTO outbox (event_type, payload) VALUES ('FundsAdded', '{}')`)
	rows := func(want int, condition string) {
		n.eventually(func() bool { return n.services.count("SELECT count(*) FROM "+condition) == want }, "there are never %d: %s", want, condition)
	}
	rows(1, "orders.outbox WHERE status = 'SENT'")
	rows(1, "orders.outbox WHERE status = 'FAILED' AND error_message ~ 'MESSAGE_TOO_LARGE'")
	rows(1, "outbox WHERE sent")

	n.services.exec("UPDATE orders.outbox SET payload = '{}' WHERE status = 'FAILED'")
	n.awaitCount(1, `SELECT count(*) FROM source_row WHERE failed_at IS NOT NULL`)
	n.starter("source", "retry", "orders", "--all")
	rows(2, "orders.outbox WHERE status = 'SENT' AND error_message IS NULL")

	n.purge(blockWith(t, "starter purge --source orders"))
}

// purge follows the document's section on finished rows.
func (n *adopter) purge(block string) {
	n.t.Helper()
	n.services.exec("UPDATE orders.outbox SET created_at = created_at - interval '40 days', sent_at = sent_at - interval '40 days'")
	printed, err := n.shell(block)
	require.Error(n.t, err, "its role may not delete")
	require.Contains(n.t, printed, "permission denied")
	require.Contains(n.t, printed, "next: ")
	document := must(os.ReadFile("../../docs/outboxes.md"))(n.t)
	grant := "GRANT DELETE ON orders.outbox TO "
	require.Contains(n.t, string(document), grant+"herald")
	n.services.exec(grant + n.role)
	printed, err = n.shell(block)
	require.NoError(n.t, err, printed)
	require.Zero(n.t, n.services.count("SELECT count(*) FROM orders.outbox"), fmt.Sprint(printed))
}
