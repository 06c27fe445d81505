package activities

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// turnAnswer is the answer of the next TakeTurns.
type turnAnswer struct {
	notification.Turns
	err error
}

// turnGiver is a TurnStore with answers from the test.
type turnGiver struct {
	asked   chan notification.TurnsWanted
	answers chan turnAnswer
}

func (g *turnGiver) TakeTurns(_ context.Context, in notification.TurnsWanted) (notification.Turns, error) {
	g.asked <- in
	answer := <-g.answers
	return answer.Turns, answer.err
}

// waiters puts senders into a queue. The other senders join after the queue has asked the store for
// the first sender's turns.
func waiters(t *testing.T, joining ...*turnWaiter) (*turnQueue, *turnGiver) {
	t.Helper()
	g := &turnGiver{asked: make(chan notification.TurnsWanted), answers: make(chan turnAnswer)}
	q := &turnQueue{store: g, channel: notification.Email, rate: 10, urgent: make(chan struct{}, 1)}
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
func answered(all []*turnWaiter) (places []int) {
	for i, w := range all {
		select {
		case <-w.answered:
			places = append(places, i)
		default:
		}
	}
	return places
}

func TestTurnsComeInOrder(t *testing.T) {
	t.Parallel()

	high, normal, batch, low := turnRank(1, false), turnRank(0, false), turnRank(3, true), turnRank(5, false)
	all := []*turnWaiter{
		{rank: batch, key: "R/1", most: 1},  // 0
		{rank: normal, key: "R/1", most: 1}, // 1
		{rank: normal, key: "R/1", most: 1}, // 2
		{rank: normal, key: "R/1", most: 1}, // 3
		{rank: normal, key: "R/2", most: 1}, // 4
		{rank: normal, key: "R/2", most: 1}, // 5
		{rank: high, key: "R/3", most: 1},   // 6
		{rank: batch, key: "R/1", most: 1},  // 7
		{rank: batch, key: "R/2", most: 1},  // 8
		{rank: low, key: "R/4", most: 1},    // 9
	}
	q, g := waiters(t, all...)
	var order []int
	seen := map[int]bool{}
	for range all {
		g.answers <- turnAnswer{Turns: notification.Turns{Granted: 1}}
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

// Turns that were taken together are due one after the other. The turns of one sender are due with
// its last turn.
func TestTurnsFollowEachOther(t *testing.T) {
	t.Parallel()

	all := []*turnWaiter{{key: "a", most: 1}, {key: "b", most: 3}, {key: "c", most: 3}, {key: "d", most: 1}}
	q, g := waiters(t, all...)
	begun := time.Now()
	g.answers <- turnAnswer{Turns: notification.Turns{Granted: 6, Wait: time.Hour}}

	require.Equal(t, notification.TurnsWanted{Name: string(notification.Email), Rate: 10, Most: 1, Ahead: turnAhead(0)}, <-g.asked)
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
	g.answers <- turnAnswer{}
}

// A more urgent sender asks for turns at once, even while other senders wait for a late turn.
func TestUrgentSenderAsksAtOnce(t *testing.T) {
	t.Parallel()

	patient := &turnWaiter{rank: turnRank(5, false), most: 1}
	q, g := waiters(t, patient)
	g.answers <- turnAnswer{Turns: notification.Turns{Wait: time.Hour}}
	urgent := &turnWaiter{rank: turnRank(1, false), most: 1, answered: make(chan struct{})}
	q.join(urgent)

	require.Equal(t, turnAhead(urgent.rank), (<-g.asked).Ahead)
	g.answers <- turnAnswer{Turns: notification.Turns{Granted: 1}}
	<-urgent.answered
	<-g.asked
	require.Empty(t, answered([]*turnWaiter{patient}))
	away := errors.New("away")
	g.answers <- turnAnswer{err: away}
	<-patient.answered
	require.ErrorIs(t, patient.err, away)
}

func TestTurnRanks(t *testing.T) {
	t.Parallel()

	for rank, who := range []struct {
		key   int // Temporal's priority key
		batch bool
	}{{1, false}, {1, true}, {3, false}, {3, true}, {5, false}, {5, true}} {
		require.Equal(t, rank, turnRank(who.key, who.batch))
		require.Positive(t, turnAhead(rank))
		if rank > 0 {
			require.Less(t, turnAhead(rank), turnAhead(rank-1))
		}
	}
	require.Equal(t, turnRank(3, true), turnRank(0, true), "without a priority")
}

// After a late single message, batches rest for a while. Operators can read the reason.
func TestBatchesRestAfterALateMessage(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var s singles
		s.note(late)
		require.Empty(t, s.resting(), "no message was late")
		s.note(late + time.Millisecond)
		s.note(late)
		require.Equal(t, "until "+time.Now().Add(restsFor).UTC().Format(time.TimeOnly)+": a single message waited "+(late+time.Millisecond).String(), s.resting())
		time.Sleep(restsFor)
		require.Empty(t, s.resting(), "the rest is over")
	})
}
