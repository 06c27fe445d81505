package e2e_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/stacktest"
	"herald/outbox"
	"herald/tools/rig"
)

// loadChannels is the number of channels in the crash tests, which must never lose a message. SLACK and
// WEBSOCKET are missing: they are best effort, so an outage may lose a message.
const loadChannels = 3

// Arguments of workers for some channels. They cost less than a worker for all channels, which polls nine
// task queues.
var (
	mailWorker = []string{"--events", "--channels", "email"}
	loadWorker = []string{"--events", "--channels", "email,push,sms"}
)

// prepareLoad inserts customer 1, who gets events of type LOAD by e-mail, push and SMS.
func (s *system) prepareLoad() {
	s.t.Helper()
	s.fill(
		postgrestest.Recipient{UserID: "1", Name: "Ada", Email: "ada@example.com", Phone: "+12015550101"},
		postgrestest.Device{UserType: notification.Customer, UserID: "1", Token: "token-1"},
		postgrestest.Route{EventType: "LOAD"}, postgrestest.Route{EventType: "LOAD", Channel: notification.Push},
		postgrestest.Route{EventType: "LOAD", Channel: notification.SMS},
		postgrestest.Template{Title: "Hello {{.recipient.name}}", Body: "Number {{.payload.number}}"})
}

// writeEvents commits n events, each in a separate transaction. With every tenth event it also
// writes another event and rolls it back.
func (s *system) writeEvents(round string, n int) {
	s.t.Helper()
	for i := range n {
		must(s.load.Commit(s.t.Context(), s.loadEvent(s.eventID(round, i), i)))(s.t)
		if i%10 == 0 {
			require.NoError(s.t, s.load.RollBack(s.t.Context(), s.loadEvent(s.eventID(round, i)+"-rolled-back", i)))
		}
	}
}

// loadEvent adds an event of customer 1 to the load.
func (s *system) loadEvent(id string, number int) *rig.Event {
	e := s.load.Add(outbox.Event{ID: id, Type: "LOAD", AggregateType: "CUSTOMER", AggregateID: "1", Payload: map[string]int{"number": number}})
	for channel, address := range map[string]string{"EMAIL": "ada@example.com", "PUSH": "token-1", "SMS": "+12015550101"} {
		e.Ask("customer1", channel, address, fmt.Sprint("Number ", number))
	}
	return e
}

func (s *system) eventID(round string, i int) string {
	return fmt.Sprintf("%s-%s-%d", s.name, round, i)
}

// waitForLoad waits until all deliveries of n events are SENT.
func (s *system) waitForLoad(n int) {
	s.t.Helper()
	s.awaitCount(n*loadChannels, `SELECT count(*) FROM notification WHERE status = 'SENT' AND event_type = 'LOAD'`)
}

// requireLedger requires that the providers accepted every delivery of every committed event of the load,
// nothing else, and no more duplicates than allowed.
func (s *system) requireLedger(allowedDuplicates int) {
	s.t.Helper()
	verdict := rig.Judge(s.load.Events, s.messages())
	s.t.Logf("%d deliveries, %d duplicates", len(verdict.Asked), verdict.Repeats)
	require.Empty(s.t, verdict.Findings)
	require.LessOrEqual(s.t, verdict.Repeats, allowedDuplicates)
}

// requirePublished waits until n events of customers have ended, and requires a domain message for
// each: an event ends only after its message is published. A crash or an outage may repeat a
// message.
func (s *system) requirePublished(n int) {
	s.awaitCount(n, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	ids := map[string]bool{}
	for _, message := range s.take("notification.customer") {
		var body struct {
			EventID string `json:"event_id"`
		}
		require.NoError(s.t, json.Unmarshal(message.Body, &body))
		require.Equal(s.t, body.EventID, message.MessageId)
		ids[message.MessageId] = true
	}
	require.Len(s.t, ids, n)
}

// take removes all messages from a queue and returns them.
func (s *system) take(queue string) []amqp.Delivery {
	s.t.Helper()
	return rabbitmqtest.VirtualHost{URL: s.servers.rabbitURL}.Take(s.t, queue)
}

// deadLetters waits until no follow-up is left, and takes all dead letters.
func (s *system) deadLetters() []amqp.Delivery {
	s.t.Helper()
	s.awaitCount(0, `SELECT count(*) FROM delivery_follow_up`)
	return s.take("notification.dead-letter")
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// slots is the maximum number of concurrent sends of a worker over all channels.
const slots = loadChannels * 64

// crashTimeouts are short, because a send of a dead worker is retried only after its timeout. If
// a busy machine makes an attempt too slow, it counts as an allowed duplicate.
var crashTimeouts = []string{"EMAIL_TIMEOUT=10s", "PUSH_TIMEOUT=10s", "SMS_TIMEOUT=10s"}

// The worker is killed five times during 100 events.
func TestWorkerKilledAtRandomMoments(t *testing.T) {
	t.Parallel()

	const kills, events = 5, 20 // events in each round
	s := newSystem(t, crashTimeouts...)
	s.prepareLoad()
	w := s.startAll(loadWorker...)

	for i := range kills {
		s.writeEvents(fmt.Sprintf("r%d", i), events)
		already := i * events * loadChannels
		target := already + randomShare(events*loadChannels)
		s.eventually(func() bool {
			return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`) >= target
		}, "round %d: %d deliveries were never reached", i, target)
		w.kill()
		w = s.startWorker(loadWorker...)
	}
	s.waitForLoad(kills * events)
	s.requireLedger(kills * slots)
}

// A worker is killed after the provider has accepted a message and before it answers. The first
// attempt is a local activity, which dies with its workflow task. The next worker cannot know the
// result: it sends the message again, after the timeout of the first call. Then a worker is stopped
// during a slow call: it records the message and exits with 0.
func TestWorkerEndsDuringAFirstAttempt(t *testing.T) {
	t.Parallel()

	s := newSystem(t, crashTimeouts...)
	s.prepareLoad()
	s.exec(`DELETE FROM event_type_channel_routing WHERE channel_type <> 'EMAIL'`)
	taken := s.withholdAnswer()
	w := s.startAll(mailWorker...)
	s.writeEvents("killed", 1)
	event := s.eventID("killed", 0)
	delivery := event + "-customer1-EMAIL"
	s.eventually(func() bool { return len(taken) > 0 }, "the provider was never asked")
	require.Empty(t, s.pending(delivery), "the first attempt is no separate activity")
	require.Contains(t, s.starter("delivery", "why", delivery), "attempt 1 of 3 is under way, since ")
	w.kill()

	w = s.startWorker(mailWorker...)
	s.awaitDelivery(delivery, "SENT")
	s.awaitSuccess(event)

	require.Equal(t, map[string]int{delivery: 2}, s.accepted(), "one duplicate, of one call that was under way")
	require.Equal(t, 1,
		s.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND attempt_count = 2 AND last_error IS NULL`, delivery))
	require.Equal(t, 1, s.count(`
		SELECT count(*)
		FROM   delivery_attempt lost, delivery_attempt sent
		WHERE  (lost.delivery_id, lost.attempt) = ($1, 1)
		AND    (sent.delivery_id, sent.attempt) = ($1, 2)
		AND    lost.outcome = 'LOST'
		AND    sent.outcome = 'SENT'
		AND    sent.started_at > lost.started_at + interval '10 seconds'`, delivery))
	why := s.starter("delivery", "why", delivery)
	require.Regexp(t, `(?m)^1 .* LOST .* a crash ended it: the next attempt may repeat the message$`, why)
	require.Regexp(t, `(?m)^2 .* SENT `, why)

	s.fault("EMAIL", `{"latency":"5s"}`)
	s.writeEvents("stopped", 1)
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE event_id = $1 AND attempt_until > now()`, s.eventID("stopped", 0))
	require.NoError(t, w.stop(), "%s", w.output)
	require.Equal(t, 1,
		s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'SENT' AND attempt_count = 1`, s.eventID("stopped", 0)))
}

// withholdAnswer makes the e-mail provider accept the first message, and answer only after the worker
// was killed. taken gets an element when the provider has accepted.
func (s *system) withholdAnswer() (taken <-chan struct{}) {
	provider := must(url.Parse(s.sandbox.URL))(s.t)
	forward, first, asked := httputil.NewSingleHostReverseProxy(provider), sync.Once{}, make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // the worker's check whether the provider is reachable
			forward.ServeHTTP(w, r)
			return
		}
		answer := http.ResponseWriter(w)
		first.Do(func() { answer = httptest.NewRecorder() })
		forward.ServeHTTP(answer, r)
		if answer != w {
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	s.t.Cleanup(server.Close)
	s.env = append(s.env, "SENDGRID_BASE_URL="+server.URL)
	return asked
}

// One provider answers 503 and another hangs. The third channel continues. Then an operator pauses a
// provider.
func TestProviderOutage(t *testing.T) {
	t.Parallel()

	const events = 25 // a provider rests after 20 failed calls
	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=100", "EMAIL_RETRY_INTERVAL=5s", "EMAIL_RETRY_COEFFICIENT=1", "SMS_MAX_ATTEMPTS=30",
		"SMS_TIMEOUT=10s")
	s.prepareLoad()
	s.fault("EMAIL", `{"status":503,"retry_after":"5s"}`)
	s.fault("SMS", `{"latency":"5m"}`)
	w := s.startAll(loadWorker...)
	s.writeEvents("outage", events)

	s.awaitCount(events, `SELECT count(*) FROM notification WHERE channel = 'PUSH' AND status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE channel <> 'PUSH' AND status = 'SENT'`))
	s.awaitCount(2, `SELECT count(*) FROM provider_state WHERE provider IN ('sendgrid', 'twilio') AND rests > 1`)

	s.mend()
	s.waitForLoad(events)
	s.requireLedger(0)
	s.rests(w)
}

// The only provider of a channel is down, and is then paused by an operator. Its deliveries wait without
// using attempts, even after a kill. Then everybody gets one message.
func (s *system) rests(w *worker) {
	const texts = 25
	s.route("NEWS", "SMS")
	s.startWorker(loadWorker...)
	before := len(s.accepted())
	s.fault("sms", `{"status":429}`)
	s.burst("-rest", "NEWS", texts)
	s.awaitCount(1, `SELECT count(*) FROM provider_state WHERE provider = 'twilio' AND rests > 1`)
	w.kill()
	require.Contains(s.t, s.starter("status"), "provider twilio")
	require.Contains(s.t, s.starter("channel", "list"), "twilio is busy: 429")
	s.starter("channel", "pause", "twilio", "--reason", "e2e")
	s.mend()
	require.Contains(s.t, s.starter("channel", "list"), "paused by")
	s.awaitCount(texts, `SELECT count(*) FROM notification WHERE event_type = 'NEWS' AND status = 'PENDING'`)

	s.starter("channel", "resume", "twilio")
	s.awaitCount(texts, `SELECT count(*) FROM notification WHERE event_type = 'NEWS' AND status = 'SENT' AND provider = 'twilio'`)
	s.sentOnce(before + texts)
	s.awaitCount(0, `SELECT count(*) FROM provider_state WHERE rests > 0 OR override IS NOT NULL`)
	require.Contains(s.t, s.starter("audit", "--command", "channel pause"), "e2e")
}

// randomShare returns a number between a tenth and nine tenths of n.
func randomShare(n int) int { return n/10 + rand.IntN(n*8/10) }

// Each server is restarted under load. Before that, `starter check` advises to switch on Temporal's
// fairness. Finally, Postgres becomes a read replica.
func TestServersRestart(t *testing.T) {
	t.Parallel()

	const events = 30
	stack := stacktest.New(t)
	stack.Command(t, "../../tools/stack.sh", []string{"HERALD_TEMPORAL_FAIR=false"}, "up", "postgres", "rabbitmq",
		"temporal") // a server's default
	settings := stack.Settings(t)
	s := newSystemOn(t, servers{settings["DATABASE_URL"], settings["RABBITMQ_URL"], settings["TEMPORAL_ADDRESS"]}, crashTimeouts...)
	s.starter("migrate", "up")
	advice, _ := s.tryStarter("check")
	require.Contains(t, advice, "advice: Temporal fairness: it is switched off")
	require.Contains(t, advice, "matching.enableFairness")
	s.prepareLoad()
	w := s.startAll(loadWorker...)

	disruptions := []struct {
		name    string
		disrupt func()
	}{
		{"postgres", func() {
			stack.Run(t, "down", "--immediate", "postgres")
			stack.Run(t, "up", "postgres")
		}},
		{"rabbitmq", func() {
			stack.Run(t, "down", "rabbitmq")
			s.eventually(func() bool { return w.ready() == http.StatusServiceUnavailable }, "the worker does not notice the outage")
			stack.Run(t, "up", "rabbitmq")
		}},
		{"temporal", func() {
			stack.Run(t, "down", "temporal")
			stack.Run(t, "up", "temporal")
		}},
	}
	for i, d := range disruptions {
		s.writeEvents(d.name, events)
		target := i*events*loadChannels + randomShare(events*loadChannels)
		s.eventually(func() bool {
			return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`) >= target
		}, "%s: %d deliveries were never reached", d.name, target)
		d.disrupt()
		s.waitForLoad((i + 1) * events)
	}
	// Only sends that were in flight when a server died may be repeated.
	s.requireLedger(len(disruptions) * slots)
	s.requirePublished(len(disruptions) * events)
	require.NoError(t, w.stop(), "%s", w.output)
	s.refusesReadReplica(stack)
}

// refusesReadReplica makes Postgres a read replica without a primary. A worker and a gateway end, and
// name the remedy. `starter check` names it, too.
func (s *system) refusesReadReplica(stack *stacktest.Stack) {
	home := must(os.ReadFile(filepath.Join(stack.Dev, "run", "postgres.home")))(s.t)
	stack.Run(s.t, "down", "temporal", "postgres")
	require.NoError(s.t, os.WriteFile(filepath.Join(strings.TrimSpace(string(home)), "data", "standby.signal"), nil, 0o600))
	stack.Run(s.t, "up", "postgres")
	s.env = append(s.env, "TEMPORAL_ADDRESS="+os.Getenv("TEMPORAL_ADDRESS")) // the stack's Temporal stored its data in this Postgres

	for name, w := range map[string]*worker{
		"worker":  s.launchWorker(),
		"gateway": s.launchGateway().worker,
	} {
		require.Error(s.t, w.Wait(), name)
		require.Contains(s.t, w.output.String(), "set DATABASE_URL to the primary's address", name)
	}
	s.fails(1, "set DATABASE_URL to the primary's address", "check")
}
