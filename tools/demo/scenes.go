package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"herald/internal/notification"
	"herald/internal/postgres/gateway"
	"herald/internal/postgres/report"
	"herald/outbox"
	"herald/tools/example"
	"herald/tools/sandbox"
)

// playScenes plays the scenes one after another.
func (d *Demo) playScenes(ctx context.Context) error {
	shown, err := d.Sandbox.Receipts(ctx)
	if err != nil {
		return err
	}
	for _, scene := range d.Scenes {
		if err := d.playScene(ctx, scene, shown.Receipts); err != nil {
			return fmt.Errorf("%s: %w", scene.Event.Name, err)
		}
	}
	return nil
}

// playScene applies the scene's settings to the sandbox, writes the scene's event, and waits for
// its deliveries.
func (d *Demo) playScene(ctx context.Context, scene example.Scene, settings sandbox.Receipts) (err error) {
	if err := disturb(ctx, d.Sandbox, settings, scene); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mend(context.WithoutCancel(ctx), d.Sandbox, settings, scene)) }()
	if err := d.Explainer.Store.InsertEvents(ctx, []outbox.Event{scene.Event.InRun(d.Run)}); err != nil {
		return err
	}
	d.played, d.reader = append(d.played, scene.Event), scene.Reads
	return d.watch(ctx)
}

// disturb adds the scene's outcomes to the settings of the sandbox, and sets its faults.
func disturb(ctx context.Context, box sandbox.Client, settings sandbox.Receipts, scene example.Scene) error {
	outcomes := map[string]string{}
	maps.Copy(outcomes, settings.Outcomes)
	maps.Copy(outcomes, scene.Outcomes)
	settings.Outcomes = outcomes
	err := box.SetReceipts(ctx, settings)
	for channel, fault := range scene.Faults {
		err = errors.Join(err, box.SetFault(ctx, string(channel), string(fault)))
	}
	return err
}

// mend restores the settings, and ends the scene's faults.
func mend(ctx context.Context, box sandbox.Client, settings sandbox.Receipts, scene example.Scene) error {
	err := box.SetReceipts(ctx, settings)
	for channel := range scene.Faults {
		err = errors.Join(err, box.SetFault(ctx, string(channel), ""))
	}
	return err
}

// read marks the last event as read in the inbox of the scene's reader, after all messages to
// the reader were sent.
func (d *Demo) read(ctx context.Context, details []report.EventDetail) error {
	if d.reader == "" || len(details) == 0 {
		return nil
	}
	for _, r := range details[len(details)-1].Recipients {
		if r.Name() != d.reader || !isWaitedFor(r) {
			continue
		}
		inbox := r.Deliveries[notification.WebSocket].DeliveryID
		var id int64
		if err := d.Explainer.Store.Pool.QueryRow(ctx, "SELECT id FROM notification WHERE delivery_id = $1", inbox).Scan(&id); err != nil {
			return fmt.Errorf("find the message to read: %w", err)
		}
		who := notification.RecipientKey{UserType: r.UserType, UserID: r.UserID}
		if err := (&gateway.Store{Store: d.Explainer.Store}).MarkRead(ctx, who, id); err != nil {
			return err
		}
		d.Changed(fmt.Sprintf("%-64s %s", inbox, "read by "+d.reader))
		d.reader = ""
	}
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
