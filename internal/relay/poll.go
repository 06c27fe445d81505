package relay

import (
	"context"
	"time"

	"herald/internal/limit"
)

// Run is the environment that an activity gives its poller.
type Run struct {
	Log     Logger
	Metrics Metrics
	// Stopped reports whether the poller must finish its page and return.
	Stopped func() bool
	// Sleep waits, but not beyond the end of the run.
	Sleep func(time.Duration)
	// Unquoted removes the values of rows from an error.
	Unquoted func(error) error
}

// Logger is a structured log.
type Logger interface {
	Info(message string, keyvals ...any)
	Warn(message string, keyvals ...any)
	Error(message string, keyvals ...any)
}

// Metrics counts events in the life of a source's rows.
type Metrics interface {
	Refused(records int)
	Untold(rows int)
	Acknowledged(age time.Duration) // time since the row was created
}

// PollResult counts the rows that a poller handled.
type PollResult struct {
	Sent   int // rows that were adopted and produced, as their source requires
	Failed int
}

const (
	// ownInterval is the time between two attempts to take slots from others.
	ownInterval = time.Second
	// shareInterval is the time that a poller works with less than its share of the slots. Then
	// it tries to take more, because a dead process may have held the missing slots.
	shareInterval = 5 * time.Second
	// alertInterval is the time between two scans while rows arrive.
	alertInterval = 25 * time.Millisecond
	// sweepShare limits the sweeps of the back to a fifth of the time, unless a row is due for a retry.
	sweepShare = 4
)

// poll is one poller's state.
type poll struct {
	*Mover
	Run
	recorder *recorder // nil: the source has no topic
	slots    map[int]bool
	owner    string // of the slots: identifies this poller while it holds them
	backOffs *backOffs

	position
	sweptAt   time.Time
	checkedAt time.Time // last run of forgetGone
	sweepTook time.Duration
	due       time.Time      // the next retry of a row or a topic; zero: none
	held      map[int64]bool // keys of rows that were refused in this scan
	freed     map[int64]bool // keys whose waiting row has ended in this scan, or is being tried
	marks     chan error     // result of marking the previous page; nil: finished

	backOff limit.BackOff // while a database or the broker is unreachable
	total   PollResult
}

// Poll sends rows until the run stops.
func (w *Mover) Poll(ctx context.Context, run Run) PollResult {
	p := &poll{Mover: w, Run: run}
	if w.Source.HasDestination() {
		p.recorder = newRecorder(w.Source)
	}
	for !p.Stopped() {
		p.own(ctx)
	}
	return p.total
}

// own takes this poller's share of the slots and sends their rows while it holds the slots.
func (p *poll) own(ctx context.Context) {
	share := (Slots + p.Source.Pollers - 1) / max(p.Source.Pollers, 1)
	owned, slots, release, err := p.Table.Own(context.WithoutCancel(ctx), share)
	if err != nil {
		p.waitAfter(err)
		return
	}
	defer release()
	if len(slots) == 0 { // other pollers hold all slots: too many pollers run, or one is about to end
		p.Sleep(limit.Jitter(ownInterval))
		return
	}
	p.slots = slots
	if err := p.resume(owned); err != nil {
		p.waitAfter(err)
		return
	}
	until := time.Now().Add(shareInterval)
	for !p.Stopped() && owned.Err() == nil && (len(slots) == share || time.Now().Before(until)) {
		p.step(owned)
	}
	if owned.Err() == nil {
		p.keepPosition(owned)
	}
}

// step looks at the front and, if a sweep is due, at a page of the back.
func (p *poll) step(ctx context.Context) {
	end, err := p.scan(ctx, &p.Front)
	if err == nil && p.Front.From != "" && p.sweepIsDue() {
		var swept scanEnd
		swept, err = p.scan(ctx, &p.Back)
		end.sent, end.failed, end.cut = end.sent+swept.sent, end.failed+swept.failed, end.cut || swept.cut
	}
	p.total.Sent, p.total.Failed = p.total.Sent+end.sent, p.total.Failed+end.failed
	if err == nil || end.sent > 0 { // a webhook that took some rows is not down
		p.backOff.Worked()
	}
	if err != nil {
		p.waitAfter(err)
		return
	}
	switch {
	case end.cut || end.failed > 0: // there may be more
	case end.sent > 0:
		p.Sleep(min(alertInterval, p.Source.PollInterval))
	default:
		wait := limit.Jitter(p.Source.PollInterval)
		if !p.due.IsZero() {
			wait = min(wait, max(time.Until(p.due), alertInterval))
		}
		p.Sleep(wait)
	}
}

// sweepIsDue reports whether the back continues or starts a sweep.
func (p *poll) sweepIsDue() bool {
	since := time.Since(p.sweptAt)
	return p.Back.Sweeping || since > max(p.Source.PollInterval, sweepShare*p.sweepTook) || since > p.sweepTook && p.isDue(&p.Back)
}

// isDue reports whether a row that a lane passed over is due for a retry.
func (p *poll) isDue(l *lane) bool {
	return (l == &p.Back || l.From == "") && !p.due.IsZero() && time.Now().After(p.due)
}

// dueIn records a retry after a delay.
func (p *poll) dueIn(delay time.Duration) {
	at := time.Now().Add(delay)
	if p.due.IsZero() || at.Before(p.due) {
		p.due = at
	}
}

func (p *poll) waitAfter(err error) {
	wait := p.backOff.Failed()
	p.Log.Warn("outbox: backing off", "source", p.Source.Name, "backoff", wait, "error", p.Unquoted(err))
	p.Sleep(wait)
}
