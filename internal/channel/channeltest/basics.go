// Package channeltest is the conformance suite for every sender. An HTTP sender passes [Run]. Any
// other sender passes [RunBasics] with its own simulated provider. [RunSettings] tests the
// settings of both.
package channeltest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Arrival is one message as the provider received it.
type Arrival struct {
	DeliveryID string
	To         string // the address; without an address, the device's token or the user id
	Text       string // contains the message's body
}

// Link is a sender with its simulated provider.
type Link struct {
	Sender   channel.Sender
	Message  func(n int) notification.Message // returns the nth message; all messages differ
	Arrivals func() []Arrival                 // all arrivals so far, in any order; safe for concurrent use
	Secrets  []string                         // known to the sender: keys, passwords, server addresses
	Break    func()                           // makes the provider unreachable; nil: not tested
}

// Message returns the nth message, without an address. Its personal data is easy to find in an
// error.
func Message(n int) notification.Message {
	return notification.Message{
		DeliveryID:     fmt.Sprintf("evt-%d-staff%d-TEST", n, n),
		NotificationID: int64(n),
		EventID:        fmt.Sprintf("evt-%d", n),
		EventType:      "RESERVATION_REQUESTED",
		UserType:       notification.RestaurantUser,
		Audience:       "restaurant",
		UserID:         strconv.Itoa(n),
		Name:           fmt.Sprintf("Ada Namemark %d", n),
		Title:          fmt.Sprintf("Titlemark %d", n),
		Body:           fmt.Sprintf("Bodymark %04d.", n),
		CreatedAt:      time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC),
	}
}

// RunBasics tests the rules for every sender. Each subtest connects again.
func RunBasics(t *testing.T, connect func(t *testing.T) Link) {
	t.Helper()
	tests := map[string]func(*testing.T, Link){
		"accepted":             testAccepted,
		"concurrent sends":     testConcurrent,
		"cancelled before":     testCancelledBefore,
		"unreachable provider": testUnreachable,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, connect(t))
		})
	}
}

func testAccepted(t *testing.T, link Link) {
	msg := link.Message(1)
	_, err := link.Sender.Send(t.Context(), msg)
	require.NoError(t, err)
	requireArrived(t, link, msg)
}

// testConcurrent detects a sender that mixes up concurrent messages.
func testConcurrent(t *testing.T, link Link) {
	const n = 64
	messages := make([]notification.Message, n)
	var sends sync.WaitGroup
	start := make(chan struct{})
	for i := range messages {
		messages[i] = link.Message(i)
		sends.Go(func() {
			<-start
			_, err := link.Sender.Send(t.Context(), messages[i])
			assert.NoError(t, err)
		})
	}
	close(start)
	sends.Wait()
	requireArrived(t, link, messages...)
}

func testCancelledBefore(t *testing.T, link Link) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	msg := link.Message(1)
	_, err := link.Sender.Send(ctx, msg)
	require.Equal(t, "cancelled", RequireFailure(t, err, msg, link.Secrets).Code)
}

func testUnreachable(t *testing.T, link Link) {
	if link.Break == nil {
		return
	}
	link.Break()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	requireClass(ctx, t, link, notification.Unreachable, "no connection")
}

// requireArrived waits until all messages have arrived, and compares each with the sent message.
func requireArrived(t *testing.T, link Link, sent ...notification.Message) {
	t.Helper()
	require.Eventually(t, func() bool { return len(link.Arrivals()) >= len(sent) }, patience, time.Millisecond)
	arrived := map[string]Arrival{}
	for _, arrival := range link.Arrivals() {
		require.NotContains(t, arrived, arrival.DeliveryID, "arrived twice")
		arrived[arrival.DeliveryID] = arrival
	}
	require.Len(t, arrived, len(sent))
	for _, msg := range sent {
		got, ok := arrived[msg.DeliveryID]
		require.True(t, ok, "%s did not arrive", msg.DeliveryID)
		require.Equal(t, addressOf(msg), got.To, "%s went to somebody else", msg.DeliveryID)
		require.True(t, strings.Contains(got.Text, msg.Body), "%s has another's text: %q", msg.DeliveryID, got.Text)
	}
}

func addressOf(msg notification.Message) string {
	switch {
	case msg.To != "":
		return msg.To
	case len(msg.Devices) > 0:
		return msg.Devices[0]
	default:
		return msg.UserID
	}
}
