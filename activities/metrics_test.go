package activities_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// meters holds the recorded metrics, by "name channel outcome".
type meters struct {
	mu     sync.Mutex
	counts map[string]int64
	times  map[string][]time.Duration
}

func newMeters() *meters {
	return &meters{counts: map[string]int64{}, times: map[string][]time.Duration{}}
}

// counted are the counters that are not 0.
func (m *meters) counted() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := maps.Clone(m.counts)
	maps.DeleteFunc(counts, func(_ string, count int64) bool { return count == 0 })
	return counts
}

func (m *meters) handler() client.MetricsHandler { return recorder{meters: m} }

// recorder is a metrics handler with tags.
type recorder struct {
	meters           *meters
	channel, outcome string
}

func (r recorder) key(name string) string {
	return strings.Join(strings.Fields(name+" "+r.channel+" "+r.outcome), " ")
}

func (r recorder) WithTags(tags map[string]string) client.MetricsHandler {
	if channel, ok := tags[activities.ChannelLabel]; ok {
		r.channel = channel
	}
	if outcome, ok := tags[activities.OutcomeLabel]; ok {
		r.outcome = outcome
	}
	return r
}

func (r recorder) Counter(name string) client.MetricsCounter { return counter{r, name} }
func (r recorder) Gauge(string) client.MetricsGauge          { return client.MetricsNopHandler.Gauge("") }
func (r recorder) Timer(name string) client.MetricsTimer     { return timer{r, name} }

type counter struct {
	recorder
	name string
}

func (c counter) Inc(n int64) {
	c.meters.mu.Lock()
	defer c.meters.mu.Unlock()
	if strings.HasPrefix(c.name, "herald_") {
		c.meters.counts[c.key(c.name)] += n
	}
}

type timer struct {
	recorder
	name string
}

func (t timer) Record(d time.Duration) {
	t.meters.mu.Lock()
	defer t.meters.mu.Unlock()
	if strings.HasPrefix(t.name, "herald_") {
		t.meters.times[t.key(t.name)] = append(t.meters.times[t.key(t.name)], d)
	}
}

// measure runs one activity and records its metrics.
func measure(m *meters, a *activities.Activities, activity, in any) error {
	_, err := newEnv(a, m.handler()).ExecuteActivity(activity, in)
	return err
}

func TestSendMetrics(t *testing.T) {
	t.Parallel()

	busy := providerError(notification.Busy, 429, 0)
	lost := due(1, 0)
	lost.endErr = errors.New("connection reset")
	sent := due(1, 0)
	sent.attempt.Status = notification.Sent
	tests := []struct {
		name  string
		db    *deliveries
		err   error // of the provider
		want  map[string]int64
		calls int
	}{
		{name: "accepted", db: due(1, 0), want: map[string]int64{"herald_attempts EMAIL SENT": 1, "herald_deliveries EMAIL SENT": 1}, calls: 1},
		{name: "accepted at the second attempt", db: due(2, 1), want: map[string]int64{"herald_attempts EMAIL SENT": 1, "herald_retries EMAIL": 1, "herald_deliveries EMAIL SENT": 1}, calls: 1},
		{name: "accepted, and not recorded", db: lost, want: map[string]int64{"herald_attempts EMAIL SENT": 1, "herald_deliveries EMAIL SENT": 1}, calls: 1},
		{name: "busy", db: due(1, 0), err: busy, want: map[string]int64{"herald_attempts EMAIL BUSY": 1}, calls: 1},
		{name: "busy again, after a crash", db: due(3, 1), err: busy, want: map[string]int64{"herald_attempts EMAIL BUSY": 1, "herald_retries EMAIL": 1}, calls: 1},
		{name: "a bug", db: due(1, 0), err: errors.New("a bug"), want: map[string]int64{"herald_attempts EMAIL ERROR": 1}, calls: 1},
		{name: "too many crashes", db: due(12, 0), want: map[string]int64{"herald_attempts EMAIL ERROR": 1, "herald_retries EMAIL": 1}},
		{name: "sent before", db: sent, want: map[string]int64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tt.db.age = 7 * time.Second
			m := newMeters()
			a := &activities.Activities{Attempts: tt.db, Senders: map[notification.Channel]activities.Sender{notification.Email: &provider{err: tt.err, receipt: notification.Answer{Took: 3 * time.Millisecond}}}}
			_ = measure(m, a, a.Send, sendInput)

			require.Equal(t, tt.want, m.counted())
			require.Equal(t, slices.Repeat([]time.Duration{3 * time.Millisecond}, tt.calls), append([]time.Duration{}, m.times["herald_provider_latency EMAIL"]...), "the call's time, not the sender's")
			if tt.err == nil && tt.calls > 0 && tt.db.endErr == nil {
				require.Equal(t, []time.Duration{7 * time.Second}, m.times["herald_commit_to_sent EMAIL"])
			} else {
				require.Empty(t, m.times["herald_commit_to_sent EMAIL"])
			}
		})
	}
}

func TestGiveUpMetrics(t *testing.T) {
	t.Parallel()

	const failed, cancelled, sent = notification.Failed, notification.Cancelled, notification.Sent
	tests := []struct {
		name         string
		channel      notification.Channel
		asked, found notification.Status
		brokerErr    error
		reason       string
		want         map[string]int64
	}{
		{name: "failed", channel: notification.SMS, asked: failed, found: failed, want: map[string]int64{"herald_deliveries SMS FAILED": 1, "herald_dead_letters SMS": 1}},
		{name: "failed, best effort", channel: notification.Slack, asked: failed, found: failed, want: map[string]int64{"herald_deliveries SLACK FAILED": 1}},
		{name: "cancelled", channel: notification.SMS, asked: cancelled, found: cancelled, want: map[string]int64{"herald_deliveries SMS CANCELLED": 1}},
		{name: "suppressed", channel: notification.SMS, asked: cancelled, found: cancelled, reason: "SUPPRESSED", want: map[string]int64{"herald_deliveries SMS CANCELLED": 1, "herald_not_sent SMS SUPPRESSED": 1}},
		{name: "suppressed, but sent meanwhile", channel: notification.SMS, asked: cancelled, found: sent, reason: "SUPPRESSED", want: map[string]int64{}},
		{name: "sent meanwhile", channel: notification.SMS, asked: cancelled, found: sent, want: map[string]int64{}},
		{name: "cancelled meanwhile", channel: notification.SMS, asked: failed, found: cancelled, want: map[string]int64{}},
		{name: "with its dead letter still to be told", channel: notification.SMS, asked: failed, found: failed, brokerErr: errors.New("no connection"), want: map[string]int64{}},
	}
	for _, tt := range tests {
		m := newMeters()
		a := &activities.Activities{Deliveries: &deliveries{status: tt.found}, DeadLetters: &broker{err: tt.brokerErr}}
		_ = measure(m, a, a.GiveUp, activities.GiveUpInput{DeliveryID: "d1", Channel: tt.channel, Status: tt.asked, Reason: cmp.Or(tt.reason, "why")})
		require.Equal(t, tt.want, m.counted(), tt.name)
	}
}

// A recipient with a suppressed address is counted after the plan is recorded.
func TestPlanMetrics(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients[1].Suppressions = []notification.Suppression{{Channel: notification.Email, Reason: notification.SuppressedBounce}, {Channel: notification.SMS, Reason: notification.SuppressedOptOut}}
	m := newMeters()
	a := planner(db)

	require.NoError(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Pages: 1}))
	require.Equal(t, map[string]int64{"herald_not_sent EMAIL SUPPRESSED": 1}, m.counted())

	db.later = errors.New("connection reset")
	require.Error(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Pages: 1}))
	require.Equal(t, map[string]int64{"herald_not_sent EMAIL SUPPRESSED": 1}, m.counted())
}

// Temporal refuses one of five events and cannot start another for now; then it is
// out of reach.
func TestPollOutboxMetrics(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	temporal := &launcher{answer: poisoned}
	emit(t, s, 1, 5)
	m := newMeters()
	p := pollMeasured(t, m.handler(), s, temporal, eager)
	await(t, s, 3, "status = 'PROCESSED'")
	want := map[string]int64{
		"herald_outbox_claims": 5, "herald_outbox_results STARTED": 3, "herald_outbox_results FAILED": 1, "herald_outbox_results KEPT": 1,
	}
	require.Eventually(t, func() bool { return maps.Equal(want, m.counted()) }, patience, time.Millisecond)

	emit(t, s, 6, 6)
	require.Eventually(t, func() bool { return m.counted()["herald_outbox_results RELEASED"] > 0 }, patience, time.Millisecond)
	p.stop(t)
	counted := m.counted()
	require.Equal(t, counted["herald_outbox_claims"]-5, counted["herald_outbox_results RELEASED"])
}

// Events whose end could not be recorded are claimed again, and counted once.
func TestPollOutboxMetricsOfALostRecord(t *testing.T) {
	t.Parallel()

	outbox := &forgetful{Store: postgrestest.New(t)}
	emit(t, outbox.Store, 1, 2)
	m := newMeters()
	p := pollMeasured(t, m.handler(), outbox, &launcher{}, eager)
	require.Eventually(t, outbox.failed.Load, patience, time.Millisecond)
	endLeases(t, outbox.Store)
	await(t, outbox.Store, 2, "status = 'PROCESSED'")
	p.stop(t)
	require.Equal(t, map[string]int64{"herald_outbox_claims": 4, "herald_outbox_results STARTED": 2}, m.counted())
}

func TestZeroMetrics(t *testing.T) {
	t.Parallel()

	m := newMeters()
	activities.ZeroMetrics(m.handler(), []notification.Channel{notification.Push}, []string{"orders"})
	require.Empty(t, m.counted())
	require.Contains(t, m.counts, "herald_dead_letters PUSH")
	require.Contains(t, m.counts, "herald_deliveries PUSH FAILED")
	require.Contains(t, m.counts, "herald_attempts PUSH ACCOUNT")
	require.Contains(t, m.counts, "herald_outbox_results KEPT")
	require.Contains(t, m.counts, "herald_sink_refusals")
	require.Contains(t, m.counts, "herald_recipients_passed_over UNKNOWN_USER_TYPE")
	require.NotContains(t, m.counts, "herald_deliveries EMAIL FAILED")
}
