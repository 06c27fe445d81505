package limit

import (
	"context"
	"log/slog"
	"slices"

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

// paused returns the sender because of which an optional message waits; nil: the message may be sent. A
// complaint is about the message, so another provider of the channel does not get it either. What an
// operator ordered is sent.
func (f *Failover) paused(msg notification.Message) *notification.SenderState {
	if !msg.Optional || msg.Ordered {
		return nil
	}
	var senders []string
	for _, p := range f.providers {
		if from := p.from(); from != "" {
			senders = append(senders, from)
		}
	}
	return f.circuits.pausedSender(senders)
}

// pausedSender returns the state of the first of the senders that is paused, at any provider. Addresses and
// phone numbers differ, so the channel need not be compared.
func (c *Circuits) pausedSender(senders []string) *notification.SenderState {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range c.senders {
		if state.PausedAt != nil && slices.Contains(senders, state.Sender) {
			return &state
		}
	}
	return nil
}

// Senders returns, by provider, the states of the senders that this process uses. The zero state: nothing was
// counted yet.
func (f *Failover) Senders() map[string]notification.SenderState {
	states := map[string]notification.SenderState{}
	for _, p := range f.providers {
		if from := p.from(); from != "" {
			states[p.Name] = f.circuits.senderState(p.Name, from)
		}
	}
	return states
}

func (c *Circuits) senderState(provider, sender string) (found notification.SenderState) {
	if c == nil {
		return found
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range c.senders {
		if state.Provider == provider && state.Sender == sender {
			return state
		}
	}
	return found
}

// setSenders stores the states of all senders, and logs which were paused and resumed. The caller holds
// c.mu.
func (c *Circuits) setSenders(states []notification.SenderState) {
	for _, state := range states {
		wasPaused := slices.ContainsFunc(c.senders, func(s notification.SenderState) bool {
			return s.Channel == state.Channel && s.Provider == state.Provider && s.Sender == state.Sender && s.PausedAt != nil
		})
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
