package limit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// tokenAnswer is the answer of the next TakeTokens.
type tokenAnswer struct {
	Taken
	err error
}

// tokenGiver is a Tokens with answers from the test.
type tokenGiver struct {
	asked   chan Wanted
	answers chan tokenAnswer
}

func (g *tokenGiver) TakeTokens(_ context.Context, in Wanted) (Taken, error) {
	g.asked <- in
	answer := <-g.answers
	return answer.Taken, answer.err
}

// waiters puts senders into a queue. The other senders join after the queue has asked the store for
// the first sender's tokens.
func waiters(t *testing.T, joining ...*waiter) (*queue, *tokenGiver) {
	t.Helper()
	g := &tokenGiver{asked: make(chan Wanted), answers: make(chan tokenAnswer)}
	q := &queue{tokens: g, channel: notification.Email, rate: 10, urgent: make(chan struct{}, 1)}
	for i, w := range joining {
		w.answered = make(chan struct{})
		q.join(w)
		if i == 0 {
			<-g.asked
		}
	}
	return q, g
}

// answered returns the indexes of the senders that have their answer.
func answered(all []*waiter) (places []int) {
	for i, w := range all {
		select {
		case <-w.answered:
			places = append(places, i)
		default:
		}
	}
	return places
}

func TestTokensComeInOrder(t *testing.T) {
	t.Parallel()

	high, normal, batch, low := Rank(1, false), Rank(0, false), Rank(3, true), Rank(5, false)
	all := []*waiter{
		{Waiter: Waiter{batch, "R/1", 1}},  // 0
		{Waiter: Waiter{normal, "R/1", 1}}, // 1
		{Waiter: Waiter{normal, "R/1", 1}}, // 2
		{Waiter: Waiter{normal, "R/1", 1}}, // 3
		{Waiter: Waiter{normal, "R/2", 1}}, // 4
		{Waiter: Waiter{normal, "R/2", 1}}, // 5
		{Waiter: Waiter{high, "R/3", 1}},   // 6
		{Waiter: Waiter{batch, "R/1", 1}},  // 7
		{Waiter: Waiter{batch, "R/2", 1}},  // 8
		{Waiter: Waiter{low, "R/4", 1}},    // 9
	}
	q, g := waiters(t, all...)
	var order []int
	seen := map[int]bool{}
	for range all {
		g.answers <- tokenAnswer{Taken: Taken{Granted: 1}}
		if len(order) < len(all)-1 {
			<-g.asked
		} else {
			<-all[len(all)-1].answered // low priority: comes last
		}
		for _, place := range answered(all) {
			if !seen[place] {
				seen[place] = true
				order = append(order, place)
			}
		}
	}
	require.Equal(t, []int{6, 1, 4, 2, 5, 3, 8, 0, 7, 9}, order)
	require.Empty(t, q.served, "the queue forgets keys without waiting senders")
}

// Turns that were taken together are due one after the other. The tokens of one sender are due with
// its last token.
func TestTokensFollowEachOther(t *testing.T) {
	t.Parallel()

	all := []*waiter{
		{Waiter: Waiter{Key: "a", Most: 1}}, {Waiter: Waiter{Key: "b", Most: 3}}, {Waiter: Waiter{Key: "c", Most: 3}},
		{Waiter: Waiter{Key: "d", Most: 1}},
	}
	q, g := waiters(t, all...)
	begun := time.Now()
	g.answers <- tokenAnswer{Taken: Taken{Granted: 6, Wait: time.Hour}}

	require.Equal(t, Wanted{Name: string(notification.Email), Rate: 10, Most: 1, Ahead: ahead(0)}, <-g.asked)
	require.Equal(t, []int{0, 1, 2}, answered(all))
	for place, want := range []struct {
		granted int
		after   time.Duration
	}{{1, 0}, {3, 300 * time.Millisecond}, {2, 500 * time.Millisecond}} {
		require.Equal(t, want.granted, all[place].granted, place)
		require.Equal(t, all[0].due.Add(want.after), all[place].due, place)
	}
	require.WithinRange(t, all[0].due, begun.Add(time.Hour), time.Now().Add(time.Hour))
	require.False(t, q.leave(all[0]), "the sender has its answer")
	require.True(t, q.leave(all[3]))
	g.answers <- tokenAnswer{}
}

// A more urgent sender asks for tokens at once, even while other senders wait for a late token.
func TestUrgentSenderAsksAtOnce(t *testing.T) {
	t.Parallel()

	patient := &waiter{Waiter: Waiter{Rank: Rank(5, false), Most: 1}}
	q, g := waiters(t, patient)
	g.answers <- tokenAnswer{Taken: Taken{Wait: time.Hour}}
	urgent := &waiter{Waiter: Waiter{Rank: Rank(1, false), Most: 1}, answered: make(chan struct{})}
	q.join(urgent)

	require.Equal(t, ahead(urgent.Rank), (<-g.asked).Ahead)
	g.answers <- tokenAnswer{Taken: Taken{Granted: 1}}
	<-urgent.answered
	<-g.asked
	require.Empty(t, answered([]*waiter{patient}))
	away := errors.New("away")
	g.answers <- tokenAnswer{err: away}
	<-patient.answered
	require.ErrorIs(t, patient.err, away)
}

func TestRanks(t *testing.T) {
	t.Parallel()

	for rank, who := range []struct {
		key   int // Temporal's priority key
		batch bool
	}{{1, false}, {1, true}, {3, false}, {3, true}, {5, false}, {5, true}} {
		require.Equal(t, rank, Rank(who.key, who.batch))
		require.Positive(t, ahead(rank))
		if rank > 0 {
			require.Less(t, ahead(rank), ahead(rank-1))
		}
	}
	require.Equal(t, Rank(3, true), Rank(0, true), "without a priority")
}
