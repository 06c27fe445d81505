package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/check"
	"herald/internal/stacktest"
)

// `starter check` finds no mistake in the example. Then it finds each mistake that only the
// servers can show.
func TestCheck(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.fails(1, "Temporal workers: no worker runs", "check")
	first, _ := s.tryStarter("check")
	require.Equal(t, 1, strings.Count(first, "worker runs"), first)
	for _, mended := range []string{"it is missing", "more like these", "task queue", "schedule", "search attributes"} {
		require.NotContains(t, first, mended, "a worker mends it")
	}
	s.starter("seed", "--slack-url", s.sandbox.URL)
	w := s.startWorker()
	s.fails(1, "run `starter poller start`", "check")
	s.starter("poller", "start")
	s.eventually(func() bool { return strings.Contains(w.output.String(), "checked what is configured") }, "the worker checked nothing")

	require.Contains(t, s.starter("check"), "no mistakes in schema, directory, rules, templates, channels, providers, broker, temporal, fairness")
	var result check.Result
	output := s.starter("check", "-o", "json")
	output = output[strings.Index(output, "{"):] // after the progress of a slow check
	require.NoError(t, json.Unmarshal([]byte(output), &result))
	require.Empty(t, result.Mistakes)

	s.starter("poller", "pause")
	s.exec("DELETE FROM channel_user_type WHERE channel_type = 'SMS'")
	s.env = append(s.env, "TEMPORAL_NAMESPACE=nowhere", "RABBITMQ_URL=amqp://guest:guest@127.0.0.1:1/")
	for _, mistake := range []string{
		"channel_user_type SMS: ", "setting RABBITMQ_URL: RabbitMQ cannot be reached: no connection", "setting TEMPORAL_NAMESPACE nowhere: Temporal has no such namespace",
	} {
		s.fails(1, mistake, "check")
	}
	require.Empty(t, s.messages(), "neither the check nor the worker's sends anything")
}

// A Temporal server has fairness off by default.
func TestCheckFindsNoFairness(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Command(t, "../../tools/stack.sh", []string{"HERALD_TEMPORAL_FAIR=false"}, "up", "postgres", "temporal")
	s := newSystem(t, "TEMPORAL_ADDRESS="+stack.Settings(t)["TEMPORAL_ADDRESS"])
	found, _ := s.tryStarter("check")
	require.Contains(t, found, "advice: Temporal fairness: it is switched off")
	require.Contains(t, found, "matching.enableFairness")
}

// A worker logs a mistake in the rules, and works nevertheless.
func TestWorkerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "TWILIO_ACCOUNT_SID=", "TWILIO_AUTH_TOKEN=", "TWILIO_FROM=")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.exec("INSERT INTO notification_template (event_type, channel, title, body) VALUES ('PROMOTION', 'PUSH', 'x', '{{.payload.')")
	all, email := s.startWorker("--events", "--channels", "sms,push,websocket,slack"), s.startWorker("--channels", "email")
	for _, mistake := range []string{`"where":"notification_template PROMOTION/PUSH/en"`, `"where":"settings of SMS","problem":"TWILIO_ACCOUNT_SID`} {
		s.eventually(func() bool { return strings.Contains(all.output.String(), mistake) }, "the worker does not say %s", mistake)
	}
	s.eventually(func() bool { return strings.Contains(email.output.String(), `"mistakes":0`) }, "what is not of its part concerns no worker")
	require.Equal(t, http.StatusOK, all.ready())
}

// A worker waits for a database that first refuses connections and then has no tables. It logs
// each problem once, and works as soon as the tables exist.
func TestWorkerAwaitsItsDatabase(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	way, databaseURL := stacktest.LinkTo(t, s.servers.databaseURL)
	way.Cut()
	direct := s.env
	s.env = append(direct[:len(direct):len(direct)], "DATABASE_URL="+databaseURL)
	w := s.launchWorker()
	s.env = direct
	const waiting = `"level":"WARN","msg":"waiting for the database, or for its schema"`
	s.eventually(func() bool { return strings.Contains(w.output.String(), waiting) }, "the worker does not say that its database is away")
	s.eventually(func() bool { return way.Refused() >= 2 }, "the worker does not try again")
	s.eventually(func() bool { return w.ready() == http.StatusServiceUnavailable }, "a worker without a database is ready")

	way.Mend()
	s.eventually(func() bool { return way.Open() }, "the worker does not try again")
	require.Equal(t, http.StatusServiceUnavailable, w.ready(), "there are no tables yet")
	s.starter("migrate", "up")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.starter("poller", "start")
	id := s.emit(s.name+"-evt", "RESERVATION_CONFIRMED", "CUSTOMER/42", "{}")
	s.awaitSuccess(id)
	s.awaitDeliveries(id, "SENT", 4)
	require.Equal(t, http.StatusOK, w.ready())
	require.Equal(t, 1, strings.Count(w.output.String(), waiting), "once a minute is enough")
}
