package e2e_test

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"herald/internal/notification"
	"herald/internal/receipts/receiptstest"
	"herald/internal/relay/kafka/kafkatest"
)

// One event over three channels appears in the worker's metrics, and a receipt in the gateway's. Each
// panel of the dashboard shows something.
func TestMetrics(t *testing.T) {
	t.Parallel()

	services, settings := newBusiness(t)
	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "order-events", nil)
	s := newSystem(t, append(settings, "KAFKA_BROKERS="+cluster.Address, "EMAIL_RATE_LIMIT=1000")...)
	s.prepareLoad()
	signer := receiptstest.New("https://herald.example.com")
	w, g := s.startWorker(), s.startGateway(signing(signer)...)
	query := s.prometheus(w.addr(), g.worker.addr())
	first, _, _ := strings.Cut(w.output.String(), "\n")
	require.Regexp(t, `"msg":"worker starts","version":"\S+","commit":"\S+","go":"go1\.`, first)
	require.Regexp(t, `(?m)^herald_build_info\{commit="\S+",go="go1\.\S+",version="\S+"\} 1$`, w.metrics())
	require.Contains(t, w.metrics(), `herald_deliveries_total{channel="EMAIL",outcome="FAILED"} 0`, "before anything happened")
	require.Contains(t, w.metrics(), `herald_sink_refusals_total{source="orders"} 0`, "before anything happened")
	s.starter("poller", "start")
	s.writeEvents("m", 1)
	s.waitForLoad(1)

	var page string
	for _, line := range []string{
		"herald_outbox_pending 0",
		"herald_outbox_oldest_pending_seconds 0",
		"herald_outbox_failed 0",
		"herald_broker_up 1",
		"herald_database_up 1",
		"herald_outbox_claims_total 1",
		`herald_outbox_results_total{outcome="STARTED"} 1`,
		`herald_deliveries_total{channel="EMAIL",outcome="SENT"} 1`,
		`herald_attempts_total{channel="PUSH",outcome="SENT"} 1`,
		`herald_provider_latency_seconds_count{channel="EMAIL"} 1`,
		`herald_commit_to_sent_seconds_count{channel="SMS"} 1`,
		`herald_turn_wait_seconds_count{channel="EMAIL"} 1`,
		`herald_retries_total{channel="EMAIL"} 0`,
		`herald_sms_segments_total{provider="twilio"} 1`,
	} {
		s.eventually(func() bool {
			page = w.metrics()
			return strings.Contains(page, "\n"+line+"\n")
		}, "there is no %q", line)
	}
	services.exec(`INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		VALUES ('Order', 'OrderCreated', '{}', 'NEW', now() AT TIME ZONE 'UTC')`)
	s.eventually(func() bool {
		page = w.metrics()
		return strings.Contains(page, `herald_commit_to_acknowledged_seconds_count{source="orders"} 1`)
	}, "the order's way to its topic is not measured")
	of := documented(t)
	maps.DeleteFunc(of, func(name string, _ measured) bool { return ofGateways.MatchString(name) })
	require.Equal(t, of, exposed(t, page), "docs/metrics.md lists exactly the exposed metrics")
	requireBoundedLabels(t, page)
	for _, personal := range []string{s.eventID("m", 0), "ada@example.com", "+12015550101", "token-1"} {
		require.NotContains(t, page, personal, "no metric contains personal data")
	}
	s.sentMails(1)
	require.Equal(t, http.StatusNoContent, g.sendgrid(signer, mailEvents(1)))
	requireGatewayMetrics(t, g.metrics())

	s.showsPanels(query)
}

// ofGateways matches the metrics that only gateways have.
var ofGateways = regexp.MustCompile(`^herald_(gateway|receipts?)_`)

// requireGatewayMetrics requires that docs/metrics.md lists the metrics of a gateway that has received a
// receipt, and that their labels have only known values.
func requireGatewayMetrics(t *testing.T, page string) {
	of := documented(t)
	maps.DeleteFunc(of, func(name string, _ measured) bool {
		return !ofGateways.MatchString(name) && name != "herald_build_info" && name != "herald_broker_up"
	})
	require.Equal(t, of, exposed(t, page), "docs/metrics.md lists exactly the exposed metrics")
	text := must(os.ReadFile("../../docs/metrics.md"))(t)
	for _, series := range regexp.MustCompile(`(?m)^(herald_(?:gateway|receipts)_\w+)\{(.*)\} `).FindAllStringSubmatch(page, -1) {
		row := regexp.MustCompile("(?ms)^\\* `" + series[1] + "` .*?\n(\\*|\n)").FindString(string(text))
		for _, label := range label.FindAllStringSubmatch(series[2], -1) {
			require.Contains(t, row, "`"+label[2]+"`", series[0])
		}
	}
}

// measured is the type of one metric and its labels in order.
type measured struct{ kind, labels string }

// exposed returns Herald's metrics on a page, and requires a help text for each.
func exposed(t *testing.T, page string) map[string]measured {
	t.Helper()
	found := map[string]measured{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (herald_\w+) (\w+)$`).FindAllStringSubmatch(page, -1) {
		require.Regexp(t, `(?m)^# HELP `+match[1]+` \S`, page)
		labels := map[string]bool{}
		series := regexp.MustCompile(`(?m)^` + match[1] + `(?:_bucket|_sum|_count)?\{(.*)\} `)
		for _, one := range series.FindAllStringSubmatch(page, -1) {
			for _, label := range label.FindAllStringSubmatch(one[1], -1) {
				labels[label[1]] = true
			}
		}
		delete(labels, "le") // every histogram has it
		found[match[1]] = measured{match[2], strings.Join(slices.Sorted(maps.Keys(labels)), ", ")}
	}
	return found
}

var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// documented returns Herald's metrics in the lists of docs/metrics.md. It requires that
// deploy/prometheus/alerts.yaml and docs/outboxes.md name no other metrics, and that the alerts in docs/outboxes.md
// exist.
func documented(t *testing.T) map[string]measured {
	t.Helper()
	text := must(os.ReadFile("../../docs/metrics.md"))(t)
	found := map[string]measured{}
	for _, row := range regexp.MustCompile("(?m)^\\* `(herald_\\w+)` (\\w+)((?:, `\\w+`)*):\\s+\\S").FindAllStringSubmatch(string(text), -1) {
		found[row[1]] = measured{row[2], strings.TrimPrefix(strings.ReplaceAll(row[3], "`", ""), ", ")}
	}
	outboxes := must(os.ReadFile("../../docs/outboxes.md"))(t)
	alerts := must(os.ReadFile("../../deploy/prometheus/alerts.yaml"))(t)
	require.NoError(t, yaml.Unmarshal(alerts, new(any)))
	for _, name := range regexp.MustCompile(`herald_\w+`).FindAllString(string(text)+string(outboxes)+string(alerts), -1) {
		require.Contains(t, found, strings.TrimSuffix(name, "_bucket"),
			"an alert or a document names a metric that docs/metrics.md does not list")
	}
	for _, name := range regexp.MustCompile(`Herald[A-Z]\w+`).FindAllString(string(outboxes), -1) {
		require.Contains(t, string(alerts), "alert: "+name+"\n", "docs/outboxes.md names an alert that does not exist")
	}
	return found
}

// requireBoundedLabels requires that every label of Herald's metrics has one of a few known
// values.
func requireBoundedLabels(t *testing.T, page string) {
	known := map[string]*regexp.Regexp{
		"outcome":  regexp.MustCompile(`^(ASKED|ENDS_SOON|APPROVED|REJECTED|STARTED|FAILED|RELEASED|KEPT|STARTED_AGAIN|CLOSED|UNKNOWN_USER_TYPE|UNUSABLE_USER_ID|TOLD|NO_RECIPIENTS|NO_ROUTING|PROBLEM|INCOMPLETE|SENT|CANCELLED|REFUSED|BUSY|UNREACHABLE|UNAVAILABLE|ACCOUNT|AMBIGUOUS|NOT_CONFIGURED|ERROR|FOLLOWED|READ|DELIVERED|DROPPED|EXPIRED|UNSUPPORTED|USER_DISABLED|GROUP_DISABLED|ROLE_RESTRICTED|SKIPPED|QUIET_HOURS|MAX_RECIPIENTS|NO_ADDRESS|SUPPRESSED|SAME_ADDRESS|THROTTLED|CAPPED|ACTOR|EXCLUDED|MUTED)$`),
		"queue":    regexp.MustCompile(`^notification\.[a-z.-]+$`),
		"provider": regexp.MustCompile(`^(rabbitmq|sendgrid|smtp|fcm|webpush|twilio|vonage|slack|webhook)$`),
		"source":   regexp.MustCompile(`^[a-z0-9-]{1,30}$`),
		"version":  regexp.MustCompile(`^\S+$`),
		"commit":   regexp.MustCompile(`^([0-9a-f]{40}(-dirty)?|unknown)$`),
		"go":       regexp.MustCompile(`^go1\.\d+`),
		"le":       regexp.MustCompile(`^([0-9.]+|\+Inf)$`),
	}
	for _, series := range regexp.MustCompile(`(?m)^herald_\w+\{(.*)\} `).FindAllStringSubmatch(page, -1) {
		for _, label := range label.FindAllStringSubmatch(series[1], -1) {
			if slices.Contains([]string{"channel", "from", "to"}, label[1]) {
				require.True(t, notification.Channel(label[2]).Valid(), series[0])
				continue
			}
			require.Contains(t, known, label[1], series[0])
			require.Regexp(t, known[label[1]], label[2], series[0])
		}
	}
}
