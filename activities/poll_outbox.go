package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/relay"
)

const (
	// pollTime is the time that one activity polls. Then the next activity polls, perhaps on a new
	// worker with other settings and code.
	pollTime = time.Minute
	// PollHeartbeat is the time after which Temporal takes a poller without heartbeats for dead.
	PollHeartbeat = 10 * time.Second
	// alertInterval is the time between two reads while the outbox is busy: of two transactions
	// that commit together, only one sends a hint. The outbox is busy until alertTime has passed
	// since the last event.
	alertInterval, alertTime = 25 * time.Millisecond, time.Second
)

// PollOutboxInput is the input of [Activities.PollOutbox].
type PollOutboxInput struct {
	Source string
}

// PollOutboxResult is the result of [Activities.PollOutbox].
type PollOutboxResult struct {
	Started  int // events whose workflow this call or an earlier call started
	Failed   int // events marked FAILED
	Released int // events given back, because Temporal is out of reach or starts nothing
	Sent     int `json:",omitempty"` // rows that became events, topic records, or both, by the source's settings
}

// PollOutbox reads the pending rows of a source for about a minute, and starts the
// workflows of its events. Before it stops, it ends its claims. If its process dies, the leases
// expire and another poller claims the events.
func (a *Activities) PollOutbox(ctx context.Context, in PollOutboxInput) (PollOutboxResult, error) {
	source, err := sourceNamed(a.Sources, in.Source)
	if err != nil {
		return PollOutboxResult{}, err
	}
	defer heartbeats(ctx, PollHeartbeat/5, nil)()
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()

	var relayed relay.PollResult
	var relaying sync.WaitGroup
	if source.Mover != nil {
		relaying.Go(func() { relayed = relayRows(ctx, source.Mover.Source.Name, source.Mover) })
	}
	var total PollOutboxResult
	if source.Outbox != nil {
		wake := make(chan struct{}, 1)
		background.Go(func() { source.Outbox.ListenEvents(ctx, waker(wake)) })
		p := &outboxPoll{Source: source, name: in.Source, launcher: a.Launcher, eager: a.Launcher.StartsEagerly(ctx), wake: wake}
		for ctx.Err() == nil && !stopping(ctx) {
			p.step(ctx)
		}
		total = p.total
	}
	relaying.Wait()
	total.Sent, total.Failed = relayed.Sent, total.Failed+relayed.Failed
	return total, nil
}

// outboxPoll is the state of one [Activities.PollOutbox].
type outboxPoll struct {
	Source
	name     string // of the source
	launcher EventLauncher
	eager    bool // see [EventLauncher]

	wake       <-chan struct{}
	backOff    limit.BackOff
	alertUntil time.Time
	total      PollOutboxResult
}

// step polls one batch. Then it backs off after a failure, or waits if the batch was not full.
func (p *outboxPoll) step(ctx context.Context) {
	counts, err := p.claim(context.WithoutCancel(ctx))
	released := counts.ended[notification.ClaimReleased]
	p.total.Started += counts.ended[notification.ClaimStarted]
	p.total.Failed += counts.ended[notification.ClaimFailed]
	p.total.Released += released
	if err != nil || released > 0 {
		wait := p.backOff.Failed() // Temporal or the database is out of reach
		activity.GetLogger(ctx).Warn("outbox: backing off",
			"released", released, "because", counts.cause, "backoff", wait, "error", Unquoted(err))
		sleep(ctx, wait, nil)
		return
	}
	p.backOff.Worked()
	if counts.claimed > 0 {
		p.alertUntil = time.Now().Add(alertTime)
	}
	if counts.claimed < p.BatchSize && sleep(ctx, p.untilNextLook(), p.wake) {
		p.alertUntil = time.Now().Add(alertTime)
	}
}

func (p *outboxPoll) untilNextLook() time.Duration {
	if time.Now().Before(p.alertUntil) {
		return min(alertInterval, p.Interval)
	}
	return limit.Jitter(p.Interval)
}

// waker returns a function that wakes the goroutine at a channel with room for one wake-up.
func waker(wake chan<- struct{}) func() {
	return func() {
		select {
		case wake <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
}

// sleep waits for d, for a wake-up, for ctx or for the worker to stop. woken reports whether
// a wake-up ended it.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
		return true
	case <-ctx.Done():
	case <-activity.GetWorkerStopChannel(ctx):
	}
	return false
}

// stopping reports whether the worker is shutting down.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// relayRows relays the rows of a source until the poller has to stop.
func relayRows(ctx context.Context, name string, of *relay.Mover) relay.PollResult {
	return of.Poll(ctx, relay.Run{
		Log:      activity.GetLogger(ctx),
		Metrics:  sourceMetrics{ofSource(ctx, name)},
		Stopped:  func() bool { return ctx.Err() != nil || stopping(ctx) },
		Sleep:    func(d time.Duration) { sleep(ctx, d, nil) },
		Unquoted: Unquoted,
	})
}

// sourceMetrics records the metrics of a relay.
type sourceMetrics struct{ client.MetricsHandler }

func (m sourceMetrics) Refused(records int)            { m.Counter(SinkRefusalsMetric).Inc(int64(records)) }
func (m sourceMetrics) Untold(rows int)                { m.Counter(UntoldRowsMetric).Inc(int64(rows)) }
func (m sourceMetrics) Acknowledged(age time.Duration) { m.Timer(CommitToTopicMetric).Record(age) }

// ofSource returns the metrics handler of a source.
func ofSource(ctx context.Context, source string) client.MetricsHandler {
	return activity.GetMetricsHandler(ctx).WithTags(map[string]string{SourceLabel: source})
}
