package limit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"herald/internal/notification"
)

const (
	// firstOpen is the time that a circuit stays open. It doubles each time, until the provider
	// answers a message, the probe.
	firstOpen   = 5 * time.Second
	longestOpen = 5 * time.Minute

	readInterval     = 2 * time.Second  // between two readings
	statementTimeout = 5 * time.Second  // of one statement
	probeLease       = 30 * time.Second // longer than a probe usually takes
)

// Circuits holds the circuits of the providers, as this process read them last. While the circuit of a
// provider is open, the provider gets no messages. In a nil Circuits none is open.
type Circuits struct {
	states Store
	first  time.Duration

	mu      sync.Mutex
	rows    map[string]circuit
	senders []notification.SenderState
	used    []notification.SenderState // the senders of this process, without counts
	probing map[string]bool            // this process claims or sends the probe
}

// circuit is the state of one provider.
type circuit struct {
	notification.ProviderState
	until time.Time // by this process's clock
}

func (c circuit) open() bool {
	return c.Override == notification.ProviderPaused || c.Override == "" && c.Rests > 0
}

// NewCircuits returns closed circuits. [Circuits.Run] reads their states.
func NewCircuits(states Store) *Circuits {
	return &Circuits{states: states, first: firstOpen, rows: map[string]circuit{}, probing: map[string]bool{}}
}

// Run reads the states every two seconds until ctx ends. While the database does not answer, the
// last states count.
func (c *Circuits) Run(ctx context.Context) {
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		c.Read(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Read reads the states, and logs each change.
func (c *Circuits) Read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	states, err := c.states.ProviderStates(ctx)
	if err != nil {
		return
	}
	senders, err := c.states.SenderStates(ctx)
	if err != nil {
		return
	}
	rows := map[string]circuit{}
	for _, state := range states {
		rows[state.Provider] = circuit{state, time.Now().Add(state.RestsFor)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for provider, row := range rows {
		switch before := c.rows[provider]; {
		case row.Override != before.Override:
			slog.Warn("an operator's override of a provider changed", "provider", provider, "order", row.Override, "by", row.By,
				"reason", row.Reason)
		case row.Rests > before.Rests:
			slog.Warn("a failing provider rests", "provider", provider, "rests", row.Rests, "for", row.RestsFor.Round(time.Second),
				"failure", row.Failure)
		case row.Rests < before.Rests:
			slog.Info("a provider works again", "provider", provider)
		}
	}
	c.rows = rows
	c.setSenders(senders)
}

// isOpen reports whether a provider gets no messages, or only a probe.
func (c *Circuits) isOpen(provider string) bool { return c.row(provider).open() }

// openFor returns the time until a provider may be asked; 0: now. It is at least the first time that a
// circuit stays open, because the probe may hang. A pause, which an operator ends, counts as the longest.
func (c *Circuits) openFor(provider string) time.Duration {
	row := c.row(provider)
	switch {
	case !row.open():
		return 0
	case row.Override != "":
		return longestOpen
	default:
		return max(c.first, time.Until(row.until))
	}
}

// troubled reports whether the circuit of a provider is open, for the metrics. It does not count if
// nobody has needed the provider for longestOpen after the time of its probe.
func (c *Circuits) troubled(provider string) bool {
	row := c.row(provider)
	return row.open() && (row.Override != "" || time.Since(row.until) < longestOpen)
}

// preferred reports whether an operator wants a provider to be asked first.
func (c *Circuits) preferred(provider string) bool {
	return c.row(provider).Override == notification.ProviderUsed
}

func (c *Circuits) row(provider string) circuit {
	if c == nil {
		return circuit{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows[provider]
}

// claimProbe reports whether the caller may send one message, the probe, over an open circuit.
// If so, the caller must call endProbe. All processes together send one probe when its time is over.
func (c *Circuits) claimProbe(ctx context.Context, provider string) bool {
	if !c.startProbe(provider) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	claimed, err := c.states.ClaimProbe(ctx, provider, probeLease)
	if err != nil || !claimed {
		c.Read(ctx)
		c.stopProbe(provider)
	}
	return claimed
}

func (c *Circuits) startProbe(provider string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	row := c.rows[provider]
	if row.Override != "" || time.Now().Before(row.until) || c.probing[provider] {
		return false
	}
	c.probing[provider] = true
	return true
}

func (c *Circuits) stopProbe(provider string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.probing, provider)
}

// endProbe stores the result of a probe. If our side ended the attempt, the state stays, and the next
// probe may start when the lease ends.
func (c *Circuits) endProbe(ctx context.Context, provider string, err error) {
	defer c.stopProbe(provider)
	switch {
	case isOutage(err):
		c.trip(ctx, provider, err, true)
	case err == nil, isAnswer(err):
		c.change(ctx, func(ctx context.Context) error { return c.states.CloseCircuit(ctx, provider) })
	}
}

// trip opens a provider's circuit in all processes.
func (c *Circuits) trip(ctx context.Context, provider string, failure error, probed bool) {
	c.change(ctx, func(ctx context.Context) error {
		return c.states.OpenCircuit(ctx, provider, failure.Error(), c.first, longestOpen, probed)
	})
}

// change writes a state and reads all states, even if ctx is cancelled.
func (c *Circuits) change(ctx context.Context, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
	defer cancel()
	if err := write(ctx); err != nil {
		slog.Warn("the state of a provider was not stored", "error", err)
	}
	c.Read(ctx)
}
