package limit

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"herald/internal/db"
	"herald/internal/notification"
)

// named is a [Sender] whose messages show an address or a number of ours.
type named interface{ From() string }

// from returns the sender that the provider's messages show; "": they show none.
func (p *Provider) from() string {
	if sender, ok := p.Sender.(named); ok {
		return sender.From()
	}
	return ""
}

// Use notes the senders of a channel in this process.
func (c *Circuits) Use(channel notification.Channel, over *Failover) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range over.providers {
		if from := p.from(); from != "" {
			c.used = append(c.used, notification.SenderState{Channel: channel, Provider: p.Name, Sender: from})
		}
	}
}

// Paused returns the sender because of which an optional message waits, and for how long; 0: it may be sent.
// The sender is one of this process, and is paused at any provider of the channel: a complaint is about the
// message, so another provider does not get it either. What an operator ordered is sent.
//
// The wait grows with the age of the pause, because each wait adds to the history of a workflow: a pause of a
// year takes about a hundred waits.
func (c *Circuits) Paused(channel notification.Channel, msg notification.Message) (sender notification.SenderState, wait time.Duration) {
	if !msg.Optional || msg.Ordered {
		return sender, 0
	}
	for _, state := range c.Senders() {
		if state.Channel == channel && state.PausedAt != nil {
			return state, max(longestOpen, time.Since(*state.PausedAt)/10)
		}
	}
	return sender, 0
}

// Senders returns the states of the senders that this process uses, first the paused senders: at all
// providers, and without counts where no receipt was counted yet.
func (c *Circuits) Senders() (states []notification.SenderState) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range c.senders {
		if slices.ContainsFunc(c.used, func(s notification.SenderState) bool { return s.Channel == state.Channel && s.Sender == state.Sender }) {
			states = append(states, state)
		}
	}
	for _, own := range c.used {
		if !slices.ContainsFunc(states, own.IsOf) {
			states = append(states, own)
		}
	}
	return states
}

// setSenders stores the states of all senders, and logs which were paused and resumed. The caller holds
// c.mu.
func (c *Circuits) setSenders(states []notification.SenderState) {
	for _, state := range states {
		wasPaused := slices.ContainsFunc(c.senders, func(s notification.SenderState) bool { return s.IsOf(state) && s.PausedAt != nil })
		switch isPaused := state.PausedAt != nil; {
		case isPaused && !wasPaused:
			slog.Error("the optional messages of a sender are paused", "channel", state.Channel, "provider", state.Provider,
				"figures", state.Figures())
		case wasPaused && !isPaused:
			slog.Warn("the optional messages of a sender are sent again", "channel", state.Channel, "provider", state.Provider,
				"by", state.ResumedBy, "reason", state.ResumeReason)
		}
	}
	c.senders = states
}

// SenderStates reads the states of all senders, first the paused senders.
func (s Store) SenderStates(ctx context.Context) ([]notification.SenderState, error) {
	const query = `
		SELECT channel, provider, sender, recipients, complaints, bounces, blocks, counted_at, paused_at, resumed_at,
		       coalesce(resumed_by, '') AS resumed_by,
		       coalesce(resume_reason, '') AS resume_reason
		FROM   sender_state
		ORDER  BY paused_at IS NULL, channel, provider, sender
		LIMIT  1000`
	return db.Collect(ctx, s.Pool, "read sender_state", db.ByName[notification.SenderState](), query)
}

// ResumeSender lets the optional messages of a sender go again, at one provider. What was counted until
// now counts no more. It reports whether they were paused.
func (s Store) ResumeSender(ctx context.Context, provider, sender, by, reason string) (resumed bool, err error) {
	const query = `
		UPDATE sender_state
		SET    paused_at = NULL, recipients = 0, complaints = 0, bounces = 0, blocks = 0,
		       resumed_at = now(), resumed_by = $3, resume_reason = $4
		WHERE  provider = $1
		AND    sender = $2
		AND    paused_at IS NOT NULL`
	changed, err := s.Pool.Exec(ctx, query, provider, sender, by, reason)
	return changed.RowsAffected() > 0, db.Wrap(err, "resume a sender")
}
