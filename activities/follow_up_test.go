package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/notification"
)

// told replaces the broker and the workflows. It keeps the delivery ids that it does not refuse.
type told struct {
	mu        sync.Mutex
	refuses   func(deliveryID string) bool // nil: it refuses none
	letters   []string
	settled   []string
	cancelled []string
}

func (w *told) take(into *[]string, deliveryID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses != nil && w.refuses(deliveryID) {
		return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Busy, Code: "not connected"}
	}
	*into = append(*into, deliveryID)
	return nil
}

func (w *told) PublishDeadLetter(_ context.Context, letter notification.DeadLetter) error {
	return w.take(&w.letters, letter.DeliveryID)
}

func (w *told) SettleEscalation(_ context.Context, deliveryID string) error {
	return w.take(&w.settled, deliveryID)
}

func (w *told) CancelDelivery(_ context.Context, deliveryID, _ string) error {
	return w.take(&w.cancelled, deliveryID)
}

func (w *told) CancelEvent(context.Context, string, string) error { return nil }

// recovers ends all refusals.
func (w *told) recovers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses = nil
}

// all returns the ids in order.
func (w *told) all() (letters, settled []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.letters)), slices.Sorted(slices.Values(w.settled))
}

// following is a running FollowUp.
type following struct {
	*told
	*running[activities.FollowUpResult]
	db *db.DB
}

func follow(t *testing.T, db *db.DB, store activities.FollowUpStore, world *told, metrics client.MetricsHandler) *following {
	t.Helper()
	a := &activities.Activities{FollowUps: store, Escalations: world, Canceller: world, DeadLetters: world}
	return &following{world, begin[activities.FollowUpResult](t, a, metrics, a.FollowUp), db}
}

// bounce changes the rows like a receipt that makes delivery n FAILED.
func bounce(t *testing.T, s *db.DB, n int) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.Delivery{
		ID: fmt.Sprint("d", n), UserID: fmt.Sprint(n), Status: notification.Failed, ReceiptFailed: true, LastError: "bounced: no such mailbox",
	})
	followUp(t, s, fmt.Sprint("d", n), notification.FollowUpDeadLetter)
}

func followUp(t *testing.T, s *db.DB, deliveryID string, kind notification.FollowUpKind) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.FollowUp{DeliveryID: deliveryID, Kind: kind})
	exec(t, s, "SELECT pg_notify('delivery_follow_up', '')")
}

// awaitLeft waits until `want` follow-ups are left.
func (f *following) awaitLeft(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return must(escalation.On(f.db).FollowUpState(t.Context()))(t).Pending == want
	}, patience, 5*time.Millisecond)
}

// Each follow-up is done once, and deleted. A delivery that was retried or purged since has no
// dead letter.
func TestFollowUp(t *testing.T) {
	t.Parallel()

	s, m := postgrestest.New(t), newMeters()
	for n := range 3 {
		bounce(t, s, n)
	}
	exec(t, s, "UPDATE notification SET status = 'PENDING', receipt_failed = false WHERE delivery_id = 'd1'")
	exec(t, s, "DELETE FROM notification WHERE delivery_id = 'd2'")
	followUp(t, s, "d3", notification.FollowUpEscalation)
	followUp(t, s, "d4", notification.FollowUpReplaced)
	f := follow(t, s, escalation.On(s), &told{}, m.handler())
	f.awaitLeft(t, 0)

	require.Equal(t, activities.FollowUpResult{Done: 5}, f.stop(t))
	letters, settled := f.all()
	require.Equal(t, []string{"d0"}, letters)
	require.Equal(t, []string{"d3"}, settled)
	require.Equal(t, []string{"d4"}, f.cancelled)
	require.Equal(t, map[string]int64{"herald_dead_letters EMAIL": 1}, m.counted())
}

// A new row wakes the activity: without wake-ups, forty rows would take three minutes.
func TestFollowUpIsWoken(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	f := follow(t, s, escalation.On(s), &told{}, client.MetricsNopHandler)
	for n := range 40 {
		bounce(t, s, n)
		f.awaitLeft(t, 0)
	}

	require.Equal(t, 40, f.stop(t).Done)
}

// While the broker is out of reach, workflows still get their signals, even behind many dead
// letters. Nothing is lost.
func TestFollowUpWithoutBroker(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for n := range 120 {
		bounce(t, s, n)
	}
	f := follow(t, s, escalation.On(s), &told{refuses: func(id string) bool { return id != "waits" }}, client.MetricsNopHandler)
	followUp(t, s, "waits", notification.FollowUpEscalation)
	require.Eventually(t, func() bool {
		_, settled := f.all()
		return len(settled) > 0
	}, patience, 5*time.Millisecond)

	f.recovers()
	f.awaitLeft(t, 0)
	require.Equal(t, 121, f.stop(t).Done)
	letters, _ := f.all()
	require.Len(t, slices.Compact(letters), 120)
}

// A follow-up that always fails does not delay other follow-ups.
func TestFollowUpThatAlwaysFails(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	f := follow(t, s, escalation.On(s), &told{refuses: func(id string) bool { return id == "d0" }}, client.MetricsNopHandler)
	for n := range 20 {
		bounce(t, s, n)
		f.awaitLeft(t, 1)
	}

	result := f.stop(t)
	require.Equal(t, 19, result.Done)
	require.NotZero(t, result.Failed)
}

// forgetfulFollowUps fails to delete the first follow-ups that are done, as after a crash.
type forgetfulFollowUps struct {
	escalation.Store
	once sync.Once
}

func (f *forgetfulFollowUps) EndFollowUps(ctx context.Context, ids []int64) (err error) {
	f.once.Do(func() { err = errors.New("connection reset") })
	if err != nil {
		return err
	}
	return escalation.On(f.DB).EndFollowUps(ctx, ids)
}

// A follow-up that could not be deleted is done again.
func TestFollowUpRepeats(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	bounce(t, s, 1)
	followUp(t, s, "d2", notification.FollowUpEscalation)
	f := follow(t, s, &forgetfulFollowUps{Store: escalation.On(s)}, &told{}, client.MetricsNopHandler)
	f.awaitLeft(t, 0)

	f.stop(t)
	letters, settled := f.all()
	require.Equal(t, []string{"d1", "d1"}, letters)
	require.Equal(t, []string{"d2", "d2"}, settled)
}
