package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"herald/internal/check"
	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/stacktest"
)

// `starter check` finds no mistake in the example. Then it finds each mistake that shows only on real
// servers.
func TestCheck(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.fails(1, "Temporal workers: no worker runs", "check")
	first, _ := s.tryStarter("check")
	require.Equal(t, 1, strings.Count(first, "worker runs"), first)
	for _, mended := range []string{"it is missing", "more like these", "task queue", "schedule", "search attributes"} {
		require.NotContains(t, first, mended, "the worker corrects this by itself")
	}
	s.starter("seed", "--slack-url", s.sandbox.URL)
	w := s.startWorker()
	s.fails(1, "run `starter poller start`", "check")
	s.starter("poller", "start")
	s.eventually(func() bool { return strings.Contains(w.output.String(), "checked the configuration") }, "the worker checked nothing")

	require.Contains(t, s.starter("check"),
		"no mistakes in schema, directory, rules, templates, channels, providers, broker, temporal, fairness")
	var result check.Result
	output := s.starter("check", "-o", "json")
	output = output[strings.Index(output, "{"):] // after the progress of a slow check
	require.NoError(t, json.Unmarshal([]byte(output), &result))
	require.Empty(t, result.Mistakes)
	answer := must(http.PostForm(s.startConsole()+"/check", nil))(t)
	page := must(io.ReadAll(answer.Body))(t)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, string(page), "No mistakes in "+strings.Join(result.Checked, ", "), "the console makes the same checks")

	s.starter("poller", "pause")
	s.exec("DELETE FROM channel_user_type WHERE channel_type = 'SMS'")
	s.env = append(s.env, "TEMPORAL_NAMESPACE=nowhere", "RABBITMQ_URL=amqp://guest:guest@127.0.0.1:1/")
	for _, mistake := range []string{
		"channel_user_type SMS: ", "setting RABBITMQ_URL: RabbitMQ cannot be reached: no connection",
		"setting TEMPORAL_NAMESPACE nowhere: Temporal has no such namespace",
	} {
		s.fails(1, mistake, "check")
	}
	require.Empty(t, s.messages(), "neither `starter check` nor the worker's check sends a message")
}

// Checks that run at the same time all learn whether Temporal is fair, and leave no workflow behind.
func TestFairnessProbesAtOnce(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	launcher := launch.Launcher{Client: s.temporal, Namespace: client.DefaultNamespace, Prefix: s.name}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fair := make([]bool, 3)
	var probing errgroup.Group
	for i := range fair {
		probing.Go(func() (err error) {
			fair[i], err = launcher.IsFair(ctx)
			return err
		})
	}
	require.NoError(t, probing.Wait())
	require.Equal(t, []bool{true, true, true}, fair)
	for _, name := range []string{"-fairness", "-fairness-2", "-fairness-3"} {
		description := must(s.temporal.DescribeWorkflow(t.Context(), s.name+name, ""))(t)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, description.Status, name)
	}
}

// A worker logs mistakes in the rules and missing settings, and still works. Failed deliveries name the
// missing settings of SendGrid, and a Slack host that is not allowed.
func TestWorkerLogsMistakes(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "SENDGRID_API_KEY=", "EMAIL_FROM=", "SLACK_ALLOWED_HOSTS=hooks.slack.com", "PUBLIC_URL=https://herald.example.com")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.fill(
		postgrestest.Template{EventType: "PROMOTION", Channel: notification.Push, Title: "x", Body: "{{.payload."},
		postgrestest.Recipient{UserType: notification.Admin, UserID: "99", Email: "ada@example.com",
			Slack: "https://chat.example.com/services/T/B/hunter2"})
	s.route("T", "EMAIL", "SLACK")
	w, sms := s.startAll("--events", "--channels", "email,push,websocket,slack"), s.startWorker("--channels", "sms")
	for _, mistake := range []string{`"where":"notification_template PROMOTION/PUSH/en"`,
		`"where":"settings of EMAIL","problem":"SENDGRID_API_KEY`} {
		s.eventually(func() bool { return strings.Contains(w.output.String(), mistake) }, "the worker does not say %s", mistake)
	}
	s.eventually(func() bool { return strings.Contains(sms.output.String(), `"mistakes":0`) }, "what is not of its part concerns no worker")
	require.Equal(t, http.StatusOK, w.ready())
	for _, fact := range []string{"channel is off", "EMAIL", "SENDGRID_API_KEY", "EMAIL_FROM"} {
		require.Contains(t, w.output.String(), fact, "at its start")
	}
	event := s.emit(s.name+"-evt", "T", "ADMIN/99", "{}")
	s.awaitSuccess(event)

	tells := map[string][]string{
		"EMAIL": {"EMAIL is not configured", "SENDGRID_API_KEY, EMAIL_FROM are not set", "no provider was called",
			"Correct the settings that the last error names, for the workers that serve EMAIL"},
		"SLACK": {"slack was not asked", "SLACK_ALLOWED_HOSTS", "Correct what the last error names"},
	}
	for channel, facts := range tells {
		id := event + "-admin99-" + channel
		s.awaitDelivery(id, "FAILED")
		why := s.starter("delivery", "why", id)
		for _, fact := range facts {
			require.Contains(t, why, fact)
		}
		require.NotContains(t, why+w.output.String(), "hunter2")
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE user_id = '99' AND last_error LIKE '%EMAIL_FROM%'`))
}

// A worker and a gateway wait for a database that first refuses connections and then has no tables. They
// log each problem once, and work as soon as the tables exist.
func TestAwaitDatabase(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	way, databaseURL := stacktest.LinkTo(t, s.servers.databaseURL)
	way.Cut()
	far := s.with("DATABASE_URL=" + databaseURL)
	w, g := far.launchWorker(), far.launchGateway()
	const waiting = `"level":"WARN","msg":"waiting for the database, or for its schema"`
	for _, process := range []*worker{w, g.worker} {
		s.eventually(func() bool { return strings.Contains(process.output.String(), waiting) }, "it does not say that its database is away:\n%s",
			process.output)
		s.eventually(func() bool { return process.ready() == http.StatusServiceUnavailable }, "it is ready without a database")
	}
	s.eventually(func() bool { return way.Refused() >= 4 }, "nobody tries again")

	way.Mend()
	s.eventually(func() bool { return way.Open() }, "nobody tries again")
	require.Equal(t, []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable}, []int{w.ready(), g.ready()},
		"there are no tables yet")
	s.starter("migrate", "up")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.starter("poller", "start")
	id := s.emit(s.name+"-evt", "RESERVATION_CONFIRMED", "CUSTOMER/42", "{}")
	s.awaitSuccess(id)
	s.awaitDeliveries(id, "SENT", 4)
	s.eventually(func() bool { return w.ready() == http.StatusOK }, "the worker is not ready:\n%s", w.output)
	require.Equal(t, 1, strings.Count(w.output.String(), waiting), "the worker logs it once a minute")

	s.eventually(func() bool { return g.ready() == http.StatusOK }, "the gateway is not ready:\n%s", g.output)
	status, page := g.request(http.MethodGet, "/", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "<html")
	require.Contains(t, g.output.String()[:200], `"msg":"gateway starts","version":`)
	require.NoError(t, g.stop())
	require.Contains(t, g.output.String(), "gateway stopping")
}
