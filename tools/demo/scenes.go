package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"herald/internal/event"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/outbox"
	"herald/tools/example"
	"herald/tools/sandbox"
)

// playActs plays the acts one after another.
func (d *Demo) playActs(ctx context.Context) error {
	shown, err := d.Sandbox.Receipts(ctx)
	if err != nil {
		return err
	}
	for _, act := range d.Acts {
		if err := d.playAct(ctx, act, shown.Receipts); err != nil {
			return err
		}
	}
	return nil
}

// playAct applies the settings of an act to the sandbox, writes the events of its scenes, and waits
// for their deliveries.
func (d *Demo) playAct(ctx context.Context, act example.Act, settings sandbox.Receipts) (err error) {
	var events []outbox.Event
	var names []string
	for _, scene := range act {
		events, names = append(events, scene.Event.InRun(d.Run)), append(names, scene.Event.Name)
		d.played = append(d.played, scene.Event)
		if scene.Reads != "" {
			d.readers = map[string]string{scene.Event.ID(d.Run): scene.Reads}
		}
	}
	d.Started("the scenes " + strings.Join(names, " and "))
	if err := disturb(ctx, d.Sandbox, settings, act); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mend(context.WithoutCancel(ctx), d.Sandbox, settings, act)) }()
	if err := event.On(d.Explainer.DB).InsertEvents(ctx, events); err != nil {
		return err
	}
	return d.watch(ctx)
}

// disturb adds the outcomes of an act to the settings of the sandbox, and sets its faults.
func disturb(ctx context.Context, box sandbox.Client, settings sandbox.Receipts, act example.Act) error {
	outcomes := maps.Clone(settings.Outcomes)
	if outcomes == nil {
		outcomes = map[string]string{}
	}
	for _, scene := range act {
		maps.Copy(outcomes, scene.Outcomes)
	}
	settings.Outcomes = outcomes
	err := box.SetReceipts(ctx, settings)
	for _, scene := range act {
		for channel, fault := range scene.Faults {
			err = errors.Join(err, box.SetFault(ctx, string(channel), string(fault)))
		}
	}
	return err
}

// mend restores the settings, and ends the faults of an act.
func mend(ctx context.Context, box sandbox.Client, settings sandbox.Receipts, act example.Act) error {
	err := box.SetReceipts(ctx, settings)
	for _, scene := range act {
		for channel := range scene.Faults {
			err = errors.Join(err, box.SetFault(ctx, string(channel), ""))
		}
	}
	return err
}

// read marks events as read in the inboxes of their readers, each after all messages to the reader
// were sent.
func (d *Demo) read(ctx context.Context, details []report.EventDetail) error {
	for _, detail := range details {
		reader := d.readers[detail.EventID]
		for _, r := range detail.Recipients {
			if r.Name() != reader || !isWaitedFor(r) {
				continue
			}
			if err := d.readMessage(ctx, r); err != nil {
				return err
			}
			delete(d.readers, detail.EventID)
		}
	}
	return nil
}

// readMessage marks a recipient's message in the inbox as read.
func (d *Demo) readMessage(ctx context.Context, r report.RecipientDetail) error {
	delivery := r.Deliveries[notification.WebSocket].DeliveryID
	var id int64
	if err := d.Explainer.DB.Pool.QueryRow(ctx, "SELECT id FROM notification WHERE delivery_id = $1", delivery).Scan(&id); err != nil {
		return fmt.Errorf("find the message to read: %w", err)
	}
	who := notification.RecipientKey{UserType: r.UserType, UserID: r.UserID}
	if err := inbox.On(d.Explainer.DB).MarkRead(ctx, who, id); err != nil {
		return err
	}
	d.Changed(fmt.Sprintf("%-64s %s", delivery, "read by "+r.Name()))
	return nil
}

// isWaitedFor reports whether all of a recipient's messages were sent, with one to the inbox.
func isWaitedFor(r report.RecipientDetail) bool {
	for _, delivery := range r.Deliveries {
		if !wasSent(delivery) {
			return false
		}
	}
	return r.Deliveries[notification.WebSocket].DeliveryID != ""
}
