package answer

import (
	"context"
	"time"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/report"
)

// StatusRequest asks for the state of the whole.
type StatusRequest struct {
	Hours int `json:"hours,omitempty" jsonschema:"count the deliveries planned in the last hours, at most 744; default 24"`
}

// Status is the state of the outboxes, the deliveries, the providers and the pollers.
type Status struct {
	Pending       int                    `json:"pending"` // events, counted up to a bound like the other counts
	Failed        int                    `json:"failed"`
	OldestSeconds float64                `json:"oldest_pending_seconds"`
	Hours         int                    `json:"hours"`      // of Deliveries and Untold
	Deliveries    []report.DeliveryCount `json:"deliveries"` // planned in these hours
	Untold        []report.OutcomeCount  `json:"untold_events"`
	Incomplete    int                    `json:"incomplete_events"`
	FollowUps     int                    `json:"follow_ups"`
	LastSweep     *Sweep                 `json:"last_sweep"` // null: none yet
	Sources       []Source               `json:"sources"`
	Providers     []Provider             `json:"providers"` // that rest or rested, or that an operator has paused or chosen
	Senders       []Sender               `json:"senders"`   // paused, or above a quarter of a limit
	Pollers       []Poller               `json:"pollers"`   // null: Temporal is out of reach
	PollerWorkers int                    `json:"poller_workers"`
}

// Sweep is the result of the last sweep.
type Sweep struct {
	At           time.Time `json:"at"`
	Looked       int       `json:"looked"`
	StartedAgain int       `json:"started_again"`
	Closed       int       `json:"closed"`
	Failed       int       `json:"failed"`
	Ambiguous    int       `json:"ambiguous"`
}

// Source is the outbox of a service.
type Source struct {
	Name          string   `json:"name"`
	Pending       *int     `json:"pending"` // null: its database does not answer
	OldestSeconds *float64 `json:"oldest_pending_seconds"`
	Failed        int      `json:"failed"`
	Resting       int      `json:"resting_topics"`
}

// Provider is the state of a provider.
type Provider struct {
	Provider   string                        `json:"provider"`
	Rests      int                           `json:"rests"` // consecutive; 0: it works
	RestsUntil *time.Time                    `json:"rests_until,omitempty"`
	Override   notification.ProviderOverride `json:"override,omitempty"`
}

// Sender is the state of a sender, without its address.
type Sender struct {
	Channel  notification.Channel     `json:"channel"`
	Provider string                   `json:"provider"`
	Level    notification.SenderLevel `json:"level"`
}

// Poller is the state of a poller.
type Poller struct {
	ID            string               `json:"id"`
	Source        string               `json:"source"`
	Status        operate.PollerStatus `json:"status"`
	Since         *time.Time           `json:"since"`
	LastHeartbeat *time.Time           `json:"last_heartbeat"`
	Failing       bool                 `json:"failing"`
}

// Status reads the state of the whole. Without Temporal, only the pollers are missing.
func (r Reader) Status(ctx context.Context, in StatusRequest) (Status, error) {
	if in.Hours < 0 || in.Hours > mostDays*24 {
		return Status{}, wrong("%d is no number of hours", "give hours from 1 to 744, or none", in.Hours)
	}
	hours := in.Hours
	if hours == 0 {
		hours = 24
	}
	backlog, err := r.Explain.Backlog(ctx, time.Duration(hours)*time.Hour)
	if err != nil {
		return Status{}, err
	}
	sources, err := operate.ReadSources(ctx, r.Explain.DB, r.Sources, sourceTimeout)
	if err != nil {
		return Status{}, err
	}
	found := Status{
		Pending: backlog.Pending, Failed: backlog.Failed, OldestSeconds: backlog.OldestSeconds, Hours: hours, Deliveries: backlog.Deliveries,
		Untold: backlog.Untold, Incomplete: backlog.Incomplete, FollowUps: backlog.FollowUps.Pending,
		Sources: each(sources, func(s operate.SourceState) Source {
			return Source{s.Name, s.Pending, s.OldestSeconds, s.Failed, s.Resting}
		}),
		Providers: each(backlog.Providers, func(p notification.ProviderState) Provider {
			provider := Provider{Provider: p.Provider, Rests: p.Rests, Override: p.Override}
			if !p.RestsUntil.IsZero() {
				provider.RestsUntil = &p.RestsUntil
			}
			return provider
		}),
		Senders: each(backlog.Senders, func(s notification.SenderState) Sender { return Sender{s.Channel, s.Provider, s.Level()} }),
	}
	if s := backlog.LastSweep; s != nil {
		found.LastSweep = &Sweep{s.At, s.Looked, s.StartedAgain, s.Closed, s.Failed, s.Ambiguous}
	}
	ctx, cancel := context.WithTimeout(ctx, pollerTimeout)
	defer cancel()
	if pollers, err := r.Pollers(ctx); err == nil {
		found.PollerWorkers = pollers.Workers
		found.Pollers = each(pollers.Pollers, func(p operate.Poller) Poller {
			return Poller{p.ID, p.Source, p.Status, p.Since, p.LastHeartbeat, p.LastFailure != ""}
		})
	}
	return found, nil
}
