package check_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/check"
	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/relay"
	texts "herald/internal/template"
	"herald/internal/wiring"
	"herald/migrations"
	"herald/starter/seed"
	"herald/tools/sandbox"
)

// sources are Herald's outbox, another source with people, and a source that only goes to a topic.
var sources = []relay.Source{{Name: notification.HeraldSource, People: true}, {Name: "orders", People: true}, {Name: "ledger"}}

// installation is the example directory in a separate database, with the sandbox as its providers.
// It has no mistakes.
type installation struct {
	*db.DB
	environment map[string]string
	ledger      string
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{DB: postgrestest.New(t), ledger: filepath.Join(t.TempDir(), "ledger")}
	providers, err := sandbox.New(sandbox.Config{Ledger: i.ledger, Local: true})
	require.NoError(t, err)
	server := httptest.NewServer(providers)
	t.Cleanup(func() {
		server.Close()
		_ = providers.Close()
	})
	i.environment = map[string]string{
		"SENDGRID_BASE_URL": server.URL, "SENDGRID_API_KEY": "SG.check", "EMAIL_FROM": "herald@example.com",
		"TWILIO_BASE_URL": server.URL, "TWILIO_ACCOUNT_SID": "AC0", "TWILIO_AUTH_TOKEN": "check", "TWILIO_FROM": "+15005550006",
		"FCM_BASE_URL": server.URL + "/v1", "FCM_PROJECT_ID": "herald-check", "WEBHOOK_ALLOWED_HOSTS": "*",
		"WEBHOOK_SECRET": "whsec_aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg==", "SLACK_ALLOWED_HOSTS": strings.TrimPrefix(server.URL, "http://"),
	}
	agree := func(context.Context, map[string]int) error { return nil }
	require.NoError(t, seed.Load(t.Context(), i.DB, server.URL, agree))
	return i
}

// exec runs SQL, for example to make a mistake.
func (i *installation) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := i.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// check checks the whole configuration after changes to the environment.
func (i *installation) check(t *testing.T, changes map[string]string) check.Result {
	t.Helper()
	environment := maps.Clone(i.environment)
	maps.Copy(environment, changes)
	wired := wiring.New()
	senders := check.Senders{Wired: wired, Problem: config.SendersFrom(environment, wired.Read), Channels: notification.Channels()}
	schema, usable := check.Schema(t.Context(), i.DB, migrations.FS)
	subjects := []check.Subject{schema}
	if usable {
		subjects = append(subjects, check.Planning(check.PlanningInput{
			DB: i.DB, Senders: senders, Texts: texts.Engine{LinkSchemes: []string{"myapp"}}, Since: time.Hour, Sources: sources,
		})...)
		subjects = append(subjects, check.Sending(i.DB, senders)...)
	}
	return check.Run(t.Context(), subjects)
}

func (i *installation) event(t *testing.T, id, eventType, aggregateType, payload string) {
	t.Helper()
	i.exec(t, `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, $2, $3, '5', $4)`, id,
		eventType, aggregateType, payload)
}

// sent returns the messages that the sandbox's providers received.
func (i *installation) sent(t *testing.T) string {
	t.Helper()
	ledger, err := os.ReadFile(i.ledger)
	require.NoError(t, err)
	return string(ledger)
}
