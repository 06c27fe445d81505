package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// broker keeps the published letters, unless it has an error to return.
type broker struct {
	err       error
	letters   []notification.DeadLetter
	events    []notification.Event
	audiences []string
}

func (b *broker) PublishEvent(_ context.Context, event notification.Event, audiences []string) error {
	b.events, b.audiences = append(b.events, event), audiences
	return b.err
}

func (b *broker) PublishDeadLetter(_ context.Context, letter notification.DeadLetter) error {
	b.letters = append(b.letters, letter)
	return b.err
}

func TestGiveUp(t *testing.T) {
	t.Parallel()

	letter := notification.DeadLetter{DeliveryID: "d1", EventID: "evt-1", Reason: "sendgrid refused: 400", Attempts: 3, FailedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	const failed, cancelled, sent, delivered = notification.Failed, notification.Cancelled, notification.Sent, notification.Delivered
	tests := []struct {
		channel notification.Channel
		asked   notification.Status
		found   notification.Status // the status that the store returns
		letters int
	}{
		{channel: notification.Email, asked: failed, found: failed, letters: 1},
		{channel: notification.Push, asked: failed, found: failed, letters: 1},
		{channel: notification.SMS, asked: failed, found: failed, letters: 1},
		{channel: notification.WebSocket, asked: failed, found: failed},
		{channel: notification.Slack, asked: failed, found: failed},
		{channel: notification.Email, asked: cancelled, found: cancelled},
		{channel: notification.Slack, asked: cancelled, found: cancelled},
		{channel: notification.Email, asked: failed, found: sent},
		{channel: notification.Email, asked: failed, found: delivered},
		{channel: notification.Email, asked: failed, found: cancelled},
		{channel: notification.Email, asked: cancelled, found: sent},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.channel, " ", tt.asked, " ", tt.found), func(t *testing.T) {
			t.Parallel()

			db, mq := &deliveries{status: tt.found, letter: letter}, &broker{}
			a := &activities.Activities{Deliveries: db, DeadLetters: mq}
			status := must(run[notification.Status](a, a.GiveUp, activities.GiveUpInput{DeliveryID: "d1", Channel: tt.channel, Status: tt.asked, Reason: "why"}))(t)

			require.Equal(t, tt.found, status)
			require.Equal(t, "why", db.reason)
			require.Len(t, mq.letters, tt.letters)
			if tt.letters > 0 {
				require.Equal(t, letter, mq.letters[0])
			}
		})
	}
}

// Temporal retries a dead letter until the broker takes it, whatever the broker answers.
func TestGiveUpWithoutBroker(t *testing.T) {
	t.Parallel()

	for class, delay := range map[notification.FailureClass]time.Duration{
		notification.Refused: 0, notification.Busy: time.Minute, notification.Account: 0, notification.Ambiguous: 0,
	} {
		mq := &broker{err: &notification.ProviderError{Provider: "rabbitmq", Class: class, RetryAfter: delay}}
		a := &activities.Activities{Deliveries: &deliveries{}, DeadLetters: mq}
		_, err := run[notification.Status](a, a.GiveUp, activities.GiveUpInput{DeliveryID: "d1", Channel: notification.Email, Status: notification.Failed, Reason: "why"})
		requireFailure(t, err, string(class), false, delay)
	}
}

func TestGiveUpWithoutDatabase(t *testing.T) {
	t.Parallel()

	mq := &broker{}
	in := activities.GiveUpInput{DeliveryID: "d1", Channel: notification.Email, Status: notification.Failed, Reason: "why"}
	for _, db := range []*deliveries{{beginErr: errors.New("connection reset")}, {endErr: errors.New("connection reset")}} {
		a := &activities.Activities{Deliveries: db, DeadLetters: mq}
		_, err := run[notification.Status](a, a.GiveUp, in)
		requireFailure(t, err, "", false, 0)
	}
	a := &activities.Activities{Deliveries: &deliveries{beginErr: notification.ErrNoDelivery}, DeadLetters: mq}
	_, err := run[notification.Status](a, a.GiveUp, in)
	requireFailure(t, err, activities.NoSuchRow, true, 0)
	require.Empty(t, mq.letters)
}
