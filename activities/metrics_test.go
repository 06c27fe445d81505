package activities_test

import (
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

// counted returns the counters that are not 0.
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

func (r recorder) Counter(name string) client.MetricsCounter {
	return counter(func(n int64) { r.record(name, func(key string) { r.meters.counts[key] += n }) })
}

func (r recorder) Gauge(string) client.MetricsGauge { return client.MetricsNopHandler.Gauge("") }

func (r recorder) Timer(name string) client.MetricsTimer {
	return timer(func(d time.Duration) {
		r.record(name, func(key string) { r.meters.times[key] = append(r.meters.times[key], d) })
	})
}

// record changes one of Herald's metrics.
func (r recorder) record(name string, change func(key string)) {
	r.meters.mu.Lock()
	defer r.meters.mu.Unlock()
	if strings.HasPrefix(name, "herald_") {
		change(r.key(name))
	}
}

type counter func(n int64)

func (c counter) Inc(n int64) { c(n) }

type timer func(d time.Duration)

func (t timer) Record(d time.Duration) { t(d) }

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
		{name: "accepted at the second attempt", db: due(2, 1),
			want: map[string]int64{"herald_attempts EMAIL SENT": 1, "herald_retries EMAIL": 1, "herald_deliveries EMAIL SENT": 1}, calls: 1},
		{name: "accepted, but not recorded", db: lost,
			want: map[string]int64{"herald_attempts EMAIL SENT": 1, "herald_deliveries EMAIL SENT": 1}, calls: 1},
		{name: "busy", db: due(1, 0), err: busy, want: map[string]int64{"herald_attempts EMAIL BUSY": 1}, calls: 1},
		{name: "busy again, after a crash", db: due(3, 1), err: busy,
			want: map[string]int64{"herald_attempts EMAIL BUSY": 1, "herald_retries EMAIL": 1}, calls: 1},
		{name: "a bug in Herald", db: due(1, 0), err: errors.New("a bug"), want: map[string]int64{"herald_attempts EMAIL ERROR": 1}, calls: 1},
		{name: "too many crashes", db: due(12, 0), want: map[string]int64{"herald_attempts EMAIL ERROR": 1, "herald_retries EMAIL": 1}},
		{name: "sent before", db: sent, want: map[string]int64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tt.db.age = 7 * time.Second
			m := newMeters()
			a := mailer(tt.db, &provider{err: tt.err, receipt: notification.Answer{Took: 3 * time.Millisecond}})
			_ = measure(m, a, a.Send, sendInput)

			require.Equal(t, tt.want, m.counted())
			require.Equal(t, slices.Repeat([]time.Duration{3 * time.Millisecond}, tt.calls),
				append([]time.Duration{}, m.times["herald_provider_latency EMAIL"]...), "the call's time, not the sender's")
			if tt.err == nil && tt.calls > 0 && tt.db.endErr == nil {
				require.Equal(t, []time.Duration{7 * time.Second}, m.times["herald_commit_to_sent EMAIL"])
			} else {
				require.Empty(t, m.times["herald_commit_to_sent EMAIL"])
			}
		})
	}
}

// Planning counts a recipient with a suppressed address after it has stored the plan.
func TestPlanMetrics(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients[1].Suppressions = []notification.Suppression{
		{Channel: notification.Email, Reason: notification.SuppressedBounce}, {Channel: notification.SMS, Reason: notification.SuppressedOptOut},
	}
	m := newMeters()
	a := planning(db)

	require.NoError(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))
	require.Equal(t, map[string]int64{"herald_not_sent EMAIL SUPPRESSED": 1}, m.counted())

	db.later = errors.New("connection reset")
	require.Error(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))
	require.Equal(t, map[string]int64{"herald_not_sent EMAIL SUPPRESSED": 1}, m.counted())
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
