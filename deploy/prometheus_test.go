// Package deploy_test tests what an installation takes from this folder.
package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Values of a series, one a minute. Something is wrong during the first hour.
const (
	rises  = "0x5 0+1x55 55x2400" // a counter
	rising = "0+1x2400"           // a counter that also rises later
	starts = "0x60 0+1x2340"      // a counter that rises later
	high   = "0x5 20000x55 0x2400"
	down   = "1x5 0x55 1x2400"
	absent = "_x60 1x2400"
)

// alertCases has, for each alert, series that fire it, and the labels that it then has.
var alertCases = map[string]struct{ series, labels map[string]string }{
	"HeraldOutboxBehind":     {of(`herald_outbox_oldest_pending_seconds{source="orders"}`, high), of("source", "orders")},
	"HeraldEventsFailed":     {of(`herald_outbox_failed{source="orders"}`, high), of("source", "orders")},
	"HeraldTopicRefuses":     {of(`herald_sink_refusals_total{source="orders"}`, rises), of("source", "orders")},
	"HeraldTopicRests":       {of(`herald_source_topics_resting{source="orders"}`, high), of("source", "orders")},
	"HeraldEventsToldNobody": {of(`herald_events_total{outcome="NO_ROUTING"}`, rises), of("outcome", "NO_ROUTING")},
	"HeraldApprovalEndsSoon": {of(`herald_approvals_total{outcome="ENDS_SOON"}`, rises), of("outcome", "ENDS_SOON")},
	"HeraldRecipientsPassedOver": {of(`herald_recipients_passed_over_total{outcome="UNKNOWN_USER_TYPE"}`, rises),
		of("outcome", "UNKNOWN_USER_TYPE")},
	"HeraldSlow": {of(`herald_commit_to_sent_seconds_bucket{channel="EMAIL",le="30"}`, starts,
		`herald_commit_to_sent_seconds_bucket{channel="EMAIL",le="60"}`, rising,
		`herald_commit_to_sent_seconds_bucket{channel="EMAIL",le="+Inf"}`, rising), of("channel", "EMAIL")},
	"HeraldDeliveriesFail":  {of(`herald_dead_letters_total{channel="EMAIL"}`, rises), of("channel", "EMAIL")},
	"HeraldFollowUpsBehind": {of(`herald_follow_ups_oldest_pending_seconds`, high), nil},
	"HeraldProviderTroubled": {of(`herald_attempts_total{channel="EMAIL",outcome="BUSY"}`, rises,
		`herald_attempts_total{channel="EMAIL",outcome="SENT"}`, rising), of("channel", "EMAIL")},
	"HeraldAccountRejected": {of(`herald_attempts_total{channel="EMAIL",outcome="ACCOUNT"}`, rises), of("channel", "EMAIL")},
	"HeraldProviderRests": {of(`herald_provider_resting{channel="SMS",provider="twilio"}`, high),
		of("channel", "SMS", "provider", "twilio")},
	"HeraldProviderFails": {of(`herald_provider_calls_total{channel="SMS",provider="twilio",outcome="BUSY"}`, rises,
		`herald_provider_calls_total{channel="SMS",provider="twilio",outcome="SENT"}`, starts), of("channel", "SMS", "provider", "twilio")},
	"HeraldFailover": {of(`herald_failovers_total{channel="SMS"}`, "0x5 0+10x55 550x2400"), of("channel", "SMS")},
	"HeraldSenderPaused": {of(`herald_sender_paused{channel="EMAIL",provider="sendgrid"}`, high),
		of("channel", "EMAIL", "provider", "sendgrid")},
	"HeraldSenderAtHalf": {of(`herald_sender_limit_ratio{channel="EMAIL",provider="sendgrid"}`, "0x5 0.6x55 0x2400"),
		of("channel", "EMAIL", "provider", "sendgrid")},
	"HeraldSenderAtQuarter": {of(`herald_sender_limit_ratio{channel="EMAIL",provider="sendgrid"}`, "0x5 0.3x55 0x2400"),
		of("channel", "EMAIL", "provider", "sendgrid")},
	"HeraldComplaints": {of(`herald_receipts_total{channel="EMAIL",outcome="complained"}`, rises,
		`herald_receipts_total{channel="EMAIL",outcome="delivered"}`, rising), nil},
	"HeraldBounces": {of(`herald_receipts_total{channel="EMAIL",outcome="bounced"}`, "0+1x60 60x2400",
		`herald_receipts_total{channel="EMAIL",outcome="delivered"}`, rising), of("channel", "EMAIL")},
	"HeraldReceiptsStop": {of(`herald_attempts_total{channel="SMS",outcome="SENT"}`, rising,
		`herald_receipts_total{channel="SMS",outcome="delivered"}`, starts), of("channel", "SMS")},
	"HeraldReceiptsRefused": {of(`herald_receipts_refused_total{cause="forged"}`, rises), of("cause", "forged")},
	"HeraldQueueDeep":       {of(`herald_queue_depth{queue="notification.dead-letter"}`, high), of("queue", "notification.dead-letter")},
	"HeraldWorkflowsLost":   {of(`herald_sweep_total{outcome="FAILED"}`, rises), nil},
	"HeraldPollersLost":     {of(`herald_pollers_lost`, high), nil},
	"HeraldAmbiguousRows":   {of(`herald_ambiguous_rows`, high), nil},
	"HeraldServerDown":      {of(`herald_database_up`, down, `herald_broker_up`, "1x2400", `herald_kafka_up`, "1x2400"), nil},
	"HeraldNoWorker":        {of(`herald_database_up`, absent), nil},
	"HeraldNonDeterminism": {of(`temporal_workflow_task_execution_failed_total{failure_reason="NonDeterminismError",workflow_type="NotifyEvent"}`,
		rises), of("workflow_type", "NotifyEvent")},
}

// of returns pairs as a map.
func of(pairs ...string) map[string]string {
	m := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0]] = pair[1]
	}
	return m
}

// Each alert fires after something was wrong for 58 minutes, names what to do, and is over some hours
// later.
func TestAlerts(t *testing.T) {
	t.Parallel()

	rules, err := filepath.Abs("prometheus/alerts.yaml")
	require.NoError(t, err)
	alerts := readAlerts(t, rules)
	require.ElementsMatch(t, slices.Collect(maps.Keys(alertCases)), slices.Collect(maps.Keys(alerts)), "each alert has a case")

	var tests []any
	for name, c := range alertCases {
		require.Contains(t, alerts[name].Annotations["summary"], "Next: ", name)
		tests = append(tests, alertTest(name, c.series, c.labels, alerts[name]))
	}
	text, err := yaml.Marshal(map[string]any{"rule_files": []string{rules}, "evaluation_interval": "2m", "tests": tests})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "alerts_test.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	output, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput()
	require.NoError(t, err, string(output))
}

type alert struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func readAlerts(t *testing.T, file string) map[string]alert {
	t.Helper()
	var rules struct {
		Groups []struct{ Rules []alert }
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &rules))
	alerts := map[string]alert{}
	for _, rule := range rules.Groups[0].Rules {
		alerts[rule.Alert] = rule
	}
	return alerts
}

// alertTest returns one alert's test in promtool's format.
func alertTest(name string, series, labels map[string]string, rule alert) any {
	var inputs []any
	for name, values := range series {
		inputs = append(inputs, of("series", name, "values", values))
	}
	with := maps.Clone(rule.Labels)
	summary := rule.Annotations["summary"]
	for label, value := range labels {
		with[label] = value
		summary = strings.ReplaceAll(summary, "{{ $labels."+label+" }}", value)
	}
	over := "8h"
	if strings.Contains(rule.Expr, "[1d]") {
		over = "38h"
	}
	fires := map[string]any{"exp_labels": with, "exp_annotations": of("summary", summary)}
	return map[string]any{"interval": "1m", "input_series": inputs, "alert_rule_test": []any{
		map[string]any{"eval_time": "58m", "alertname": name, "exp_alerts": []any{fires}},
		map[string]any{"eval_time": over, "alertname": name},
	}}
}
