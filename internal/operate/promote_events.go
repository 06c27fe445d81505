package operate

import (
	"context"
	"errors"
	"fmt"

	"herald/internal/notification"
)

// endAll ends all events that the generation cannot continue, until none is left. It reads the open
// events from the tables, and the start of each from Temporal. Temporal's visibility lags behind
// both, and cannot tell which workflows feed a topic.
func (p *promotionRun) endAll(ctx context.Context) error {
	for {
		ended := p.ended.Load()
		if err := p.unfinished(ctx, p.endUnlessReplayed); err != nil {
			return err
		}
		if p.ended.Load() == ended {
			return nil
		}
	}
}

// unfinished calls f for all events that may have a workflow.
func (p *promotionRun) unfinished(ctx context.Context, f func(ctx context.Context, id string) error) error {
	claimed, err := p.Store.ClaimedEvents(ctx, maxClaimed)
	if err != nil {
		return err
	}
	if err := each(ctx, p, claimed, f); err != nil {
		return err
	}
	for after := ""; ; {
		page, err := p.Store.UnfinishedEvents(ctx, after, promotedPage)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := each(ctx, p, page, f); err != nil {
			return err
		}
		after = page[len(page)-1]
	}
}

func (p *promotionRun) endUnlessReplayed(ctx context.Context, id string) error {
	open, err := p.Launcher.OpenEvent(ctx, id)
	if err != nil || open.RunID == "" || open.Replays(p.done.Generation) {
		return err
	}
	if marked, err := p.Store.BeginRestart(ctx, id); err != nil || !marked {
		return err
	}
	p.ended.Add(1)
	return p.Launcher.EndEvent(ctx, id, open.RunID, p.reason())
}

// reason is the reason for the termination in the Web UI.
func (p *promotionRun) reason() string {
	return fmt.Sprintf("%s; workers of generation %d cannot continue it: Herald starts the event again", p.Order.cause(), p.done.Generation)
}

// endMarked ends the events that an interrupted promotion has marked: some of their workflows may
// still run.
func (p *promotionRun) endMarked(ctx context.Context) error {
	return p.marked(ctx, func(ctx context.Context, event notification.StuckEvent) error {
		open, err := p.Launcher.OpenEvent(ctx, event.ID)
		if err != nil {
			return err
		}
		if open.RunID != "" && open.Replays(p.done.Generation) { // the event was started again already
			return p.Store.EventRestarted(ctx, event.ID)
		}
		p.ended.Add(1)
		return p.Launcher.EndEvent(ctx, event.ID, open.RunID, p.reason())
	})
}

// startAll starts all marked events again.
func (p *promotionRun) startAll(ctx context.Context) error {
	return p.marked(ctx, p.startAgain)
}

// startAgain starts an event as the sweep does. It first waits for attempts under way, so that
// their results are recorded. If OUTBOX_SOURCES lacks the event's source here, it leaves the event
// to the sweep.
func (p *promotionRun) startAgain(ctx context.Context, event notification.StuckEvent) error {
	if err := p.awaitAttempts(ctx, event.ID); err != nil {
		return err
	}
	publishes, err := p.Launcher.Publishes(ctx, event.ID)
	switch {
	case err != nil:
		return err
	case event.Purged:
		return p.Store.EndStuckEvent(ctx, event.ID, notification.EventFailed, 0)
	case p.launcher.CheckSource(event.Source) != nil:
		p.left.Add(1)
		return nil
	}
	event.Published = !publishes
	err = p.launcher.StartEventAgain(ctx, event.PendingEvent)
	if taken := new(notification.IDTakenError); errors.As(err, &taken) {
		return p.Store.EndStuckEvent(ctx, event.ID, notification.EventFailed, 0)
	}
	if err != nil {
		return fmt.Errorf("start %s again: %w", event.ID, err)
	}
	p.restarted.Add(1)
	return p.Store.EventRestarted(ctx, event.ID)
}

func (p *promotionRun) awaitAttempts(ctx context.Context, eventID string) error {
	for {
		underWay, err := p.Store.AttemptsUnderWay(ctx, eventID)
		if err != nil || !underWay {
			return err
		}
		if err := sleep(ctx); err != nil {
			return err
		}
	}
}
