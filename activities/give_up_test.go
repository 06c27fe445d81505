package activities_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// broker keeps the published events, unless it has an error to return.
type broker struct {
	err       error
	events    []notification.Event
	audiences []string
}

func (b *broker) PublishEvent(_ context.Context, event notification.Event, audiences []string) error {
	b.events, b.audiences = append(b.events, event), audiences
	return b.err
}

// A rollback cancels the workflow of a delivery, but not the delivery.
func TestGiveUpAfterARollback(t *testing.T) {
	t.Parallel()

	const rollback = string(notification.CancelledInTemporal)
	away := errors.New("temporal is out of reach")
	tests := []struct {
		status  notification.Status
		reason  string
		of      executions
		written bool
	}{
		{status: notification.Cancelled, reason: rollback, of: executions{rolledBack: true}},
		{status: notification.Cancelled, reason: rollback, written: true},
		{status: notification.Cancelled, reason: rollback, of: executions{err: away}},
		{status: notification.Cancelled, reason: "SUPPRESSED", of: executions{rolledBack: true}, written: true},
		{status: notification.Failed, reason: "no answer", of: executions{rolledBack: true}, written: true},
	}
	for _, tt := range tests {
		db := &deliveries{status: tt.status}
		a := &activities.Activities{Deliveries: db, Executions: tt.of}
		in := activities.GiveUpInput{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, Status: tt.status, Reason: tt.reason}

		status, err := run[notification.Status](a, a.GiveUp, in)

		require.Equal(t, tt.of.err != nil, err != nil)
		if err == nil {
			require.Equal(t, tt.status, status)
		}
		require.Equal(t, tt.written, db.reason != "", tt)
	}
}

// A delivery that ended before is not counted again.
func TestGiveUp(t *testing.T) {
	t.Parallel()

	const failed, cancelled, sent, delivered = notification.Failed, notification.Cancelled, notification.Sent, notification.Delivered
	tests := []struct {
		channel notification.Channel
		asked   notification.Status
		found   notification.Status // the status that the store returns
		reason  string              // empty: "why"
		counted []string
	}{
		{channel: notification.Email, asked: failed, found: failed, counted: []string{"herald_deliveries EMAIL FAILED"}},
		{channel: notification.Push, asked: failed, found: failed, counted: []string{"herald_deliveries PUSH FAILED"}},
		{channel: notification.SMS, asked: failed, found: failed, counted: []string{"herald_deliveries SMS FAILED"}},
		{channel: notification.WebSocket, asked: failed, found: failed, counted: []string{"herald_deliveries WEBSOCKET FAILED"}},
		{channel: notification.Slack, asked: failed, found: failed, counted: []string{"herald_deliveries SLACK FAILED"}},
		{channel: notification.Email, asked: cancelled, found: cancelled, counted: []string{"herald_deliveries EMAIL CANCELLED"}},
		{channel: notification.Slack, asked: cancelled, found: cancelled, counted: []string{"herald_deliveries SLACK CANCELLED"}},
		{channel: notification.SMS, asked: cancelled, found: cancelled, reason: "SUPPRESSED",
			counted: []string{"herald_deliveries SMS CANCELLED", "herald_not_sent SMS SUPPRESSED"}},
		{channel: notification.SMS, asked: cancelled, found: sent, reason: "SUPPRESSED"},
		{channel: notification.Email, asked: failed, found: sent},
		{channel: notification.Email, asked: failed, found: delivered},
		{channel: notification.Email, asked: failed, found: cancelled},
		{channel: notification.Email, asked: cancelled, found: sent},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.channel, " ", tt.asked, " ", tt.found, " ", tt.reason), func(t *testing.T) {
			t.Parallel()

			db, m := &deliveries{status: tt.found}, newMeters()
			a := &activities.Activities{Deliveries: db}
			in := activities.GiveUpInput{DeliveryID: "d1", Channel: tt.channel, Status: tt.asked, Reason: cmp.Or(tt.reason, "why")}
			status := must(execute[notification.Status](newEnv(a, m.handler()), a.GiveUp, in))(t)

			require.Equal(t, tt.found, status)
			require.Equal(t, in.Reason, db.reason)
			require.Equal(t, tt.counted, slices.Sorted(maps.Keys(m.counted())))
		})
	}
}

func TestGiveUpWithoutDatabase(t *testing.T) {
	t.Parallel()

	in := activities.GiveUpInput{DeliveryID: "d1", Channel: notification.Email, Status: notification.Failed, Reason: "why"}
	for answer, failureType := range map[error]string{errors.New("connection reset"): "", notification.ErrNoDelivery: activities.NoSuchRow} {
		a := &activities.Activities{Deliveries: &deliveries{beginErr: answer}}
		_, err := run[notification.Status](a, a.GiveUp, in)
		requireFailure(t, err, failureType, failureType != "", 0)
	}
}
