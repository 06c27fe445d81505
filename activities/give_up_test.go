package activities_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// A delivery that has ended before is counted then. A failure is counted once its dead letter is
// published.
func TestGiveUp(t *testing.T) {
	t.Parallel()

	letter := notification.DeadLetter{DeliveryID: "d1", EventID: "evt-1", Reason: "sendgrid refused: 400", Attempts: 3, FailedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	const failed, cancelled, sent, delivered = notification.Failed, notification.Cancelled, notification.Sent, notification.Delivered
	tests := []struct {
		channel notification.Channel
		asked   notification.Status
		found   notification.Status // the status that the store returns
		reason  string              // empty: why
		letters int
		counted []string
	}{
		{channel: notification.Email, asked: failed, found: failed, letters: 1, counted: []string{"herald_dead_letters EMAIL", "herald_deliveries EMAIL FAILED"}},
		{channel: notification.Push, asked: failed, found: failed, letters: 1, counted: []string{"herald_dead_letters PUSH", "herald_deliveries PUSH FAILED"}},
		{channel: notification.SMS, asked: failed, found: failed, letters: 1, counted: []string{"herald_dead_letters SMS", "herald_deliveries SMS FAILED"}},
		{channel: notification.WebSocket, asked: failed, found: failed, counted: []string{"herald_deliveries WEBSOCKET FAILED"}},
		{channel: notification.Slack, asked: failed, found: failed, counted: []string{"herald_deliveries SLACK FAILED"}},
		{channel: notification.Email, asked: cancelled, found: cancelled, counted: []string{"herald_deliveries EMAIL CANCELLED"}},
		{channel: notification.Slack, asked: cancelled, found: cancelled, counted: []string{"herald_deliveries SLACK CANCELLED"}},
		{channel: notification.SMS, asked: cancelled, found: cancelled, reason: "SUPPRESSED", counted: []string{"herald_deliveries SMS CANCELLED", "herald_not_sent SMS SUPPRESSED"}},
		{channel: notification.SMS, asked: cancelled, found: sent, reason: "SUPPRESSED"},
		{channel: notification.Email, asked: failed, found: sent},
		{channel: notification.Email, asked: failed, found: delivered},
		{channel: notification.Email, asked: failed, found: cancelled},
		{channel: notification.Email, asked: cancelled, found: sent},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.channel, " ", tt.asked, " ", tt.found, " ", tt.reason), func(t *testing.T) {
			t.Parallel()

			db, mq, m := &deliveries{status: tt.found, letter: letter}, &broker{}, newMeters()
			a := &activities.Activities{Deliveries: db, DeadLetters: mq}
			in := activities.GiveUpInput{DeliveryID: "d1", Channel: tt.channel, Status: tt.asked, Reason: cmp.Or(tt.reason, "why")}
			status := must(execute[notification.Status](newEnv(a, m.handler()), a.GiveUp, in))(t)

			require.Equal(t, tt.found, status)
			require.Equal(t, in.Reason, db.reason)
			require.Equal(t, slices.Repeat([]notification.DeadLetter{letter}, tt.letters), append([]notification.DeadLetter{}, mq.letters...))
			require.Equal(t, tt.counted, slices.Sorted(maps.Keys(m.counted())))
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
		a, m := &activities.Activities{Deliveries: &deliveries{}, DeadLetters: mq}, newMeters()
		err := measure(m, a, a.GiveUp, activities.GiveUpInput{DeliveryID: "d1", Channel: notification.Email, Status: notification.Failed, Reason: "why"})
		requireFailure(t, err, string(class), false, delay)
		require.Empty(t, m.counted())
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
