package limit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/roomtest"
)

func TestTakeTokens(t *testing.T) {
	t.Parallel()

	const tenAMinute = 1 / 6. // tokens a second
	s := postgrestest.New(t)
	for name, test := range map[string]struct {
		nextAt  time.Duration // when the first free token is due, from now
		in      limit.Wanted
		granted int
		wait    time.Duration // may be shorter by the time of the statements
	}{
		"the first ever": {in: limit.Wanted{Rate: tenAMinute, Most: 1}, granted: 1},
		"as many as are due": {nextAt: 30 * time.Second, in: limit.Wanted{Rate: tenAMinute, Most: 100, Ahead: time.Minute},
			granted: 6, wait: 30 * time.Second},
		"as many as are wanted": {nextAt: 30 * time.Second, in: limit.Wanted{Rate: tenAMinute, Most: 3, Ahead: time.Minute},
			granted: 3, wait: 30 * time.Second},
		"none": {nextAt: 30 * time.Second, in: limit.Wanted{Rate: tenAMinute, Most: 1, Ahead: 10 * time.Second},
			wait: 20 * time.Second},
		"one, further ahead": {nextAt: 30 * time.Second, in: limit.Wanted{Rate: tenAMinute, Most: 5, Ahead: 31 * time.Second},
			granted: 1, wait: 30 * time.Second},
		"tokens lost in a silence": {nextAt: -time.Hour, in: limit.Wanted{Rate: 102, Most: 1000}, granted: 21,
			wait: -200 * time.Millisecond},
		"a slower rate ends": {nextAt: time.Hour, in: limit.Wanted{Rate: 10, Most: 1, Ahead: 2 * time.Second}, granted: 0,
			wait: time.Minute - 1900*time.Millisecond},
		"a rate near zero": {nextAt: time.Second, in: limit.Wanted{Rate: 1e-300, Most: 1, Ahead: time.Minute}, granted: 1,
			wait: time.Second},
		"a rate near infinity": {nextAt: -time.Hour, in: limit.Wanted{Rate: 1e300, Most: 64}, granted: 64,
			wait: -200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.in.Name = name // a separate channel for each case
			begun := time.Now()
			if test.nextAt != 0 {
				postgrestest.Add(t, s.Pool, postgrestest.Turn{Name: name, NextAt: begun.Add(test.nextAt)})
			}

			tokens := roomtest.Must(limit.On(s).TakeTokens(t.Context(), test.in))(t)

			require.Equal(t, test.granted, tokens.Granted)
			require.LessOrEqual(t, tokens.Wait, test.wait)
			require.GreaterOrEqual(t, tokens.Wait, test.wait-time.Since(begun))
		})
	}
}

// When many processes take tokens at once, no token is given twice, and none is lost. Other
// channels have separate tokens.
func TestTurnsAreGivenOnce(t *testing.T) {
	t.Parallel()

	const takers, each, first = 8, 3, 30 * time.Second
	s, begun := postgrestest.New(t), time.Now()
	postgrestest.Add(t, s.Pool,
		postgrestest.Turn{Name: "EMAIL", NextAt: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}, postgrestest.Turn{Name: "SMS",
			NextAt: begun.Add(first)})
	from := postgrestest.Get[time.Time](t, s, `SELECT next_at FROM channel_turn WHERE channel = 'SMS'`)
	var taking sync.WaitGroup
	var granted atomic.Int64
	for range takers {
		taking.Go(func() {
			for {
				tokens, err := limit.On(s).TakeTokens(t.Context(), limit.Wanted{Name: "SMS", Rate: 2, Most: each, Ahead: time.Minute})
				if !assert.NoError(t, err) || tokens.Granted == 0 {
					return
				}
				granted.Add(int64(tokens.Granted))
			}
		})
	}
	taking.Wait()

	to := postgrestest.Get[time.Time](t, s, `SELECT next_at FROM channel_turn WHERE channel = 'SMS'`)
	require.Equal(t, time.Duration(granted.Load())*time.Second/2, to.Sub(from))
	require.GreaterOrEqual(t, granted.Load(), int64(2*(time.Minute-first).Seconds()))
	require.LessOrEqual(t, granted.Load(), int64(2*(time.Minute-first+time.Since(begun)).Seconds())+each)
}
