package limit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
)

// unreachable is the failure of a provider that cannot have the message.
var unreachable = &notification.ProviderError{Provider: "p", Class: notification.Unreachable, Code: channel.CodeNoConnection}

// aFew is a number of messages. A provider that takes none of them rests.
const aFew = 20

func sendSome(t *testing.T, f *limit.Failover, n int) {
	t.Helper()
	for range n {
		_, err := f.Send(t.Context(), notification.Message{})
		require.NoError(t, err)
	}
}

// A provider that fails rests in all processes, and the next provider gets the messages at once. If both
// rest, nobody is asked.
func TestRest(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	first, second := &told{err: unreachable}, &told{}
	here, there := limit.NewCircuits(limit.On(db)), limit.NewCircuits(limit.On(db))
	both := limit.NewFailover(here, &limit.Provider{Name: "a", Sender: first}, &limit.Provider{Name: "b", Sender: second})
	sendSome(t, both, 50)
	require.Equal(t, aFew, first.asked)
	require.Equal(t, 50, second.asked)
	require.Equal(t, map[string]bool{"a": true, "b": false}, both.OpenCircuits())

	first.err = nil
	other := limit.NewFailover(there, &limit.Provider{Name: "a", Sender: first}, &limit.Provider{Name: "b", Sender: second})
	there.Read(t.Context())
	answer, err := other.Send(t.Context(), notification.Message{})
	require.NoError(t, err)
	require.Equal(t, "b", answer.Provider)
	require.True(t, answer.Failover)

	_, err = both.Send(t.Context(), notification.Message{Provider: "a"})
	require.ErrorIs(t, err, notification.ErrBackOff, "the resting provider may have the message, so no other provider gets it")
	second.err = unreachable
	for range 80 {
		_, err = both.Send(t.Context(), notification.Message{})
		require.Error(t, err)
	}
	require.ErrorIs(t, err, notification.ErrBackOff)
	require.Equal(t, aFew, first.asked)
	require.Equal(t, map[string]bool{"a": true, "b": true}, both.OpenCircuits())
}

// After a rest, all processes together send one message as a probe. If it fails, the rest gets longer. If
// it succeeds, the provider works again in all processes.
func TestProbe(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	var asked atomic.Int64
	var answer atomic.Value
	answer.Store(error(unreachable))
	probed, goOn := make(chan struct{}, 100), make(chan struct{})
	provider := sender(func() error {
		if asked.Add(1) > aFew {
			probed <- struct{}{}
			<-goOn
		}
		return answer.Load().(error)
	})
	one := processOf(t, db, provider)
	for range aFew {
		_, err := one.Send(t.Context(), notification.Message{})
		require.ErrorIs(t, err, unreachable)
	}
	require.Equal(t, 1, rests(t, db))
	two := processOf(t, db, provider)

	var sends sync.WaitGroup
	for range 10 {
		for _, process := range []*limit.Failover{one, two} {
			sends.Go(func() {
				for until := time.Now().Add(time.Minute); asked.Load() == aFew && time.Now().Before(until); time.Sleep(time.Millisecond) {
					_, _ = process.Send(t.Context(), notification.Message{})
				}
			})
		}
	}
	<-probed
	for range 10 {
		_, err := two.Send(t.Context(), notification.Message{})
		require.ErrorIs(t, err, notification.ErrBackOff)
	}
	close(goOn)
	sends.Wait()
	require.EqualValues(t, aFew+1, asked.Load(), "one probe")
	require.Equal(t, 2, rests(t, db))

	answer.Store(error(&notification.ProviderError{Provider: "p", Class: notification.Refused, Status: 400}))
	require.Eventually(t, func() bool {
		_, err := one.Send(t.Context(), notification.Message{})
		return !errors.Is(err, notification.ErrBackOff)
	}, time.Minute, time.Millisecond, "a refusal is an answer")
	require.Equal(t, map[string]bool{"a": false}, one.OpenCircuits())
	require.Zero(t, rests(t, db))
}

// The error contains the time until one of the providers may be asked again. The end of a pause is
// unknown.
func TestEndOfRest(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	circuits := limit.NewCircuits(limit.On(db))
	both := limit.NewFailover(circuits, &limit.Provider{Name: "a", Sender: &told{}}, &limit.Provider{Name: "b", Sender: &told{}})
	openFor := func() time.Duration {
		circuits.Read(t.Context())
		_, err := both.Send(t.Context(), notification.Message{})
		var rest *notification.BackOffError
		require.ErrorAs(t, err, &rest)
		return rest.For
	}
	require.NoError(t, limit.On(db).OpenCircuit(t.Context(), "a", "broken", 3*time.Minute, time.Hour, false))
	require.NoError(t, limit.On(db).OverrideProvider(t.Context(), "b", []string{"a"}, notification.ProviderPaused, "anna@desk", "a test"))
	require.LessOrEqual(t, openFor(), 3*time.Minute)
	require.NoError(t, limit.On(db).OverrideProvider(t.Context(), "a", []string{"b"}, notification.ProviderPaused, "anna@desk", "a test"))
	require.Equal(t, 5*time.Minute, openFor())
}

// If a process dies during its probe, another process sends the next probe.
func TestProbeIsLeased(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	require.NoError(t, limit.On(db).OpenCircuit(t.Context(), "a", "broken", time.Microsecond, time.Hour, false))
	claimed, err := limit.On(db).ClaimProbe(t.Context(), "a", time.Microsecond)
	require.NoError(t, err)
	require.True(t, claimed)
	claimed, err = limit.On(db).ClaimProbe(t.Context(), "a", time.Hour)
	require.NoError(t, err)
	require.True(t, claimed, "the first claim has expired")
	claimed, err = limit.On(db).ClaimProbe(t.Context(), "a", time.Hour)
	require.NoError(t, err)
	require.False(t, claimed)
}

// A refused message, or an attempt that we cancel, says nothing about the provider.
func TestNoRest(t *testing.T) {
	t.Parallel()

	for _, err := range []error{
		&notification.ProviderError{Class: notification.Refused},
		&notification.ProviderError{Class: notification.Ambiguous, Code: channel.CodeCancelled},
		&notification.ProviderError{Class: notification.Ambiguous, Theirs: true}, errors.New("broken"),
	} {
		only := &told{err: err}
		one := limit.NewFailover(limit.NewCircuits(limit.On(postgrestest.New(t))), &limit.Provider{Name: "a", Sender: only})
		for range 30 {
			_, got := one.Send(t.Context(), notification.Message{})
			require.ErrorIs(t, got, err)
		}
		require.Equal(t, 30, only.asked)
	}
}

// Each rest in a row takes twice as long as the rest before it, up to a limit. A rest that two processes
// begin counts once.
func TestLengthOfRests(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300} {
		require.NoError(t, limit.On(db).OpenCircuit(t.Context(), "a", "broken", 5*time.Second, 5*time.Minute, want > 5))
		require.NoError(t, limit.On(db).OpenCircuit(t.Context(), "a", "broken", 5*time.Second, 5*time.Minute, false))
		require.Equal(t, int(want), postgrestest.Get[int](t, db, `SELECT extract(epoch FROM rests_until - changed_at)::int FROM provider_state`))
	}
	require.Equal(t, 9, rests(t, db))
}

// A single failure lets no provider rest that has recovered before enough calls had failed.
func TestRestNotAfterARecovery(t *testing.T) {
	t.Parallel()

	only := &told{err: unreachable}
	one := limit.NewFailover(limit.NewCircuits(limit.On(postgrestest.New(t))), &limit.Provider{Name: "a", Sender: only})
	fail := func(times int) {
		only.err = unreachable
		for range times {
			_, err := one.Send(t.Context(), notification.Message{})
			require.ErrorIs(t, err, unreachable)
		}
		only.err = nil
	}
	fail(aFew - 5)
	sendSome(t, one, 100)
	fail(1)
	require.Equal(t, map[string]bool{"a": false}, one.OpenCircuits())
}

// An operator's override beats the failures, in all processes and after a restart.
func TestOverrides(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	first, second := &told{}, &told{}
	process := func() *limit.Failover {
		circuits := limit.NewCircuits(limit.On(db))
		circuits.Read(t.Context())
		return limit.NewFailover(circuits, &limit.Provider{Name: "a", Sender: first}, &limit.Provider{Name: "b", Sender: second})
	}
	takenBy := func() string {
		answer, err := process().Send(t.Context(), notification.Message{})
		if err != nil {
			return err.Error()
		}
		return answer.Provider
	}
	override := func(provider, other string, order notification.ProviderOverride) {
		require.NoError(t, limit.On(db).OverrideProvider(t.Context(), provider, []string{other}, order, "anna@desk", "a test"))
	}

	require.Equal(t, "a", takenBy())
	override("b", "a", notification.ProviderUsed)
	require.Equal(t, "b", takenBy())
	require.NoError(t, limit.On(db).OpenCircuit(t.Context(), "b", "broken", time.Hour, time.Hour, false))
	require.Equal(t, "b", takenBy(), "even if it fails")
	override("a", "b", notification.ProviderUsed)
	require.Equal(t, "a", takenBy(), "only one provider is used at a time")
	override("a", "b", notification.ProviderPaused)
	require.Equal(t, notification.ErrBackOff.Error(), takenBy(), "b rests")
	override("b", "a", "")
	require.Equal(t, "b", takenBy(), "the rest of b ended with its override")
	override("a", "b", "")
	require.Equal(t, "a", takenBy())
}

// sender is a provider that calls a function.
type sender func() error

func (s sender) Send(context.Context, notification.Message) (notification.Answer, error) {
	return notification.Answer{}, s()
}

// processOf returns a process with one provider, whose first rest is short.
func processOf(t *testing.T, db *db.DB, provider channel.Sender) *limit.Failover {
	t.Helper()
	circuits := limit.NewImpatientCircuits(limit.On(db), 200*time.Millisecond)
	circuits.Read(t.Context())
	return limit.NewFailover(circuits, &limit.Provider{Name: "a", Sender: provider})
}

func rests(t *testing.T, db *db.DB) int {
	t.Helper()
	return postgrestest.Get[int](t, db, `SELECT rests FROM provider_state WHERE provider = 'a'`)
}
