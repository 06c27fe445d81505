package channel

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"herald/internal/notification"
)

// States is the tables provider_state and channel_turn, which all processes share.
type States interface {
	ProviderStates(ctx context.Context) ([]notification.ProviderState, error)
	RestProvider(ctx context.Context, provider, failure string, first, longest time.Duration, probed bool) error
	ClaimProbe(ctx context.Context, provider string, lease time.Duration) (bool, error)
	ProviderWorks(ctx context.Context, provider string) error
	Turns
}

const (
	// firstRest is the length of the first rest. Each further rest takes twice as long, until the
	// provider answers a message, the probe.
	firstRest   = 5 * time.Second
	longestRest = 5 * time.Minute

	boardInterval = 2 * time.Second  // between two readings
	boardTimeout  = 5 * time.Second  // of one statement
	probeLease    = 30 * time.Second // longer than a probe usually takes
)

// Board holds the providers' states that this process read last. With a nil Board, no provider rests.
type Board struct {
	states States
	first  time.Duration

	mu      sync.Mutex
	rows    map[string]boardRow
	probing map[string]bool // this process claims or sends the probe
}

type boardRow struct {
	notification.ProviderState
	until time.Time // by this process's clock
}

func (r boardRow) rests() bool {
	return r.Override == notification.ProviderPaused || r.Override == "" && r.Rests > 0
}

// NewBoard returns a board without states. [Board.Run] reads the states.
func NewBoard(states States) *Board {
	return &Board{states: states, first: firstRest, rows: map[string]boardRow{}, probing: map[string]bool{}}
}

// Run reads the states every two seconds until ctx ends. While the database does not answer, the
// last states count.
func (b *Board) Run(ctx context.Context) {
	ticker := time.NewTicker(boardInterval)
	defer ticker.Stop()
	for {
		b.Read(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Read reads the states, and logs each change.
func (b *Board) Read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	states, err := b.states.ProviderStates(ctx)
	if err != nil {
		return
	}
	rows := map[string]boardRow{}
	for _, state := range states {
		rows[state.Provider] = boardRow{state, time.Now().Add(state.RestsFor)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for provider, row := range rows {
		switch before := b.rows[provider]; {
		case row.Override != before.Override:
			slog.Warn("an operator's override of a provider changed", "provider", provider, "order", row.Override, "by", row.By, "reason", row.Reason)
		case row.Rests > before.Rests:
			slog.Warn("a failing provider rests", "provider", provider, "rests", row.Rests, "for", row.RestsFor.Round(time.Second), "failure", row.Failure)
		case row.Rests < before.Rests:
			slog.Info("a provider works again", "provider", provider)
		}
	}
	b.rows = rows
}

// resting reports whether a provider gets no messages, or only a probe.
func (b *Board) resting(provider string) bool { return b.row(provider).rests() }

// restsFor returns the time until a provider may be asked; 0: it does not rest. The time is at least a
// first rest, because the probe may hang. A pause, which an operator ends, counts as the longest rest.
func (b *Board) restsFor(provider string) time.Duration {
	row := b.row(provider)
	switch {
	case !row.rests():
		return 0
	case row.Override != "":
		return longestRest
	default:
		return max(b.first, time.Until(row.until))
	}
}

// troubled reports whether a provider rests, for the metrics. A provider does not count if nobody has
// needed it for longestRest after its rest.
func (b *Board) troubled(provider string) bool {
	row := b.row(provider)
	return row.rests() && (row.Override != "" || time.Since(row.until) < longestRest)
}

// used reports whether an operator wants a provider to be asked first.
func (b *Board) used(provider string) bool {
	return b.row(provider).Override == notification.ProviderUsed
}

func (b *Board) row(provider string) boardRow {
	if b == nil {
		return boardRow{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rows[provider]
}

// claimProbe reports whether the caller may send one message, the probe, over a provider that rests.
// If so, the caller must call endProbe. All processes together send one probe after each rest.
func (b *Board) claimProbe(ctx context.Context, provider string) bool {
	if !b.startProbe(provider) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	claimed, err := b.states.ClaimProbe(ctx, provider, probeLease)
	if err != nil || !claimed {
		b.Read(ctx)
		b.stopProbe(provider)
	}
	return claimed
}

func (b *Board) startProbe(provider string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.rows[provider]
	if row.Override != "" || time.Now().Before(row.until) || b.probing[provider] {
		return false
	}
	b.probing[provider] = true
	return true
}

func (b *Board) stopProbe(provider string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.probing, provider)
}

// endProbe stores the result of a probe. If our side ended the attempt, the state stays, and the next
// probe may start when the lease ends.
func (b *Board) endProbe(ctx context.Context, provider string, err error) {
	defer b.stopProbe(provider)
	switch {
	case isOutage(err):
		b.rest(ctx, provider, err, true)
	case err == nil, isAnswer(err):
		b.change(ctx, func(ctx context.Context) error { return b.states.ProviderWorks(ctx, provider) })
	}
}

// rest makes a provider rest in all processes.
func (b *Board) rest(ctx context.Context, provider string, failure error, probed bool) {
	b.change(ctx, func(ctx context.Context) error {
		return b.states.RestProvider(ctx, provider, failure.Error(), b.first, longestRest, probed)
	})
}

// change writes a state and reads all states, even if ctx is cancelled.
func (b *Board) change(ctx context.Context, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), boardTimeout)
	defer cancel()
	if err := write(ctx); err != nil {
		slog.Warn("the state of a provider was not stored", "error", err)
	}
	b.Read(ctx)
}
