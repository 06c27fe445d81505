package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// showsPanels requires that each panel of the dashboard shows something, after an event that was retried.
func (s *system) showsPanels(query func(expression string) string) {
	s.fault("push", `{"status":503}`)
	s.writeEvents("retried", 1)
	s.awaitSome(1, "SELECT count(*) FROM delivery_attempt WHERE outcome <> 'SENT'")
	s.mend()
	s.waitForLoad(2)
	for title, queries := range panels(s.t) {
		for _, expression := range queries {
			s.eventually(func() bool { return strings.Contains(query(expression), `"value":[`) }, "the panel %q shows nothing: %s", title,
				expression)
		}
	}
}

// panels returns the queries of each panel.
func panels(t *testing.T) map[string][]string {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text := must(os.ReadFile("../../deploy/grafana/herald.json"))(t)
	require.NoError(t, json.Unmarshal(text, &dashboard))
	queries := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries[panel.Title] = append(queries[panel.Title], target.Expr)
		}
	}
	require.NotEmpty(t, queries)
	return queries
}

var prometheusListens = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// prometheus starts a Prometheus that scrapes targets each second and has the alerts. It returns a
// function that answers queries with JSON.
func (s *system) prometheus(targets ...string) (query func(expression string) string) {
	alerts := must(filepath.Abs("../../deploy/prometheus/alerts.yaml"))(s.t)
	file := filepath.Join(s.t.TempDir(), "prometheus.yaml")
	require.NoError(s.t, os.WriteFile(file, fmt.Appendf(nil, `
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [%q]
scrape_configs: [{ job_name: herald, static_configs: [{ targets: [%q, %q] }] }]
`, alerts, targets[0], targets[1]), 0o600))
	p := s.start(exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+s.t.TempDir(), "--web.listen-address=127.0.0.1:0"))
	s.eventually(func() bool { return prometheusListens.MatchString(p.output.String()) }, "Prometheus does not start: %s", p.output)
	address := "http://" + prometheusListens.FindStringSubmatch(p.output.String())[1]
	return func(expression string) string {
		return get(s.t, address+"/api/v1/query?query="+url.QueryEscape(expression))
	}
}
