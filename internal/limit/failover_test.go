package limit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
)

// told is a provider that returns err, or accepts the message if err is nil.
type told struct {
	err   error
	asked int
}

func (p *told) Send(context.Context, notification.Message) (notification.Answer, error) {
	p.asked++
	return notification.Answer{Status: 202, ProviderID: "id"}, p.err
}

// The next provider is asked only if the previous provider cannot have the message and did not refuse it.
// If a provider may have the message, only that provider is asked again.
func TestFailover(t *testing.T) {
	t.Parallel()

	fails := func(class notification.FailureClass) error {
		return &notification.ProviderError{Provider: "p", Class: class}
	}
	unreachable := &notification.ProviderError{Provider: "p", Class: notification.Unreachable, Code: "no connection"}
	unavailable, noMailbox := fails(notification.Unavailable),
		&notification.ProviderError{Provider: "p", Class: notification.Refused, Suppress: notification.SuppressedInvalid}
	busy, account, refused, ambiguous := fails(notification.Busy), fails(notification.Account), fails(notification.Refused),
		fails(notification.Ambiguous)
	tests := []struct {
		name     string
		from     string // the provider that may have the message
		free     bool   // the other provider is asked first
		first    error
		second   error
		asked    [2]int
		provider string
		want     notification.FailureClass // empty: it is sent
		text     string
		repeats  bool // the message may arrive twice
		later    bool // the other provider may take it later
	}{
		{name: "the first takes it", asked: [2]int{1, 0}, provider: "a"},
		{name: "busy", first: busy, asked: [2]int{1, 1}, provider: "b"},
		{name: "account rejected", first: account, asked: [2]int{1, 1}, provider: "b"},
		{name: "no connection", first: unreachable, asked: [2]int{1, 1}, provider: "b"},
		{name: "the message is refused", first: refused, asked: [2]int{1, 0}, want: notification.Refused, text: "p refused"},
		{name: "no clear answer", first: ambiguous, asked: [2]int{1, 0}, provider: "a", want: notification.Ambiguous,
			text: "p gave no clear answer"},
		{name: "no clear answer from the second", first: busy, second: ambiguous, asked: [2]int{1, 1}, provider: "b",
			want: notification.Ambiguous, text: "p is busy; p gave no clear answer"},
		{name: "both are busy", first: busy, second: busy, asked: [2]int{1, 1}, want: notification.Busy, text: "p is busy; p is busy"},
		{name: "busy, then account rejected", first: busy, second: account, asked: [2]int{1, 1}, want: notification.Busy,
			text: "p is busy; p rejected our account"},
		{name: "both reject the account", first: account, second: account, asked: [2]int{1, 1}, want: notification.Account,
			text: "p rejected our account; p rejected our account"},
		{name: "both are out of reach", first: unreachable, second: unreachable, asked: [2]int{1, 1}, want: notification.Unreachable,
			text: "p was out of reach: no connection; p was out of reach: no connection"},
		{name: "unavailable", first: unavailable, asked: [2]int{1, 1}, provider: "b"},
		{name: "busy, then refused", first: busy, second: refused, asked: [2]int{1, 1}, want: notification.Busy, text: "p is busy; p refused"},
		{name: "account rejected, then refused", first: account, second: refused, asked: [2]int{1, 1}, want: notification.Account,
			text: "p rejected our account; p refused"},
		{name: "busy, then no such mailbox", first: busy, second: noMailbox, asked: [2]int{1, 1}, want: notification.Refused,
			text: "p is busy; p refused"},
		{name: "unavailable, then out of reach", first: unavailable, second: unreachable, asked: [2]int{1, 1}, want: notification.Unreachable,
			text: "p is unavailable; p was out of reach: no connection"},
		{name: "the first may have it, the second takes it", from: "a", free: true, asked: [2]int{0, 1}, provider: "b", repeats: true},
		{name: "the first may have it, the second is busy", from: "a", free: true, second: busy, asked: [2]int{1, 1}, provider: "a"},
		{name: "the first may have it, both fail", from: "a", free: true, first: ambiguous, second: busy, asked: [2]int{1, 1}, provider: "a",
			want: notification.Ambiguous, text: "p is busy; p gave no clear answer", later: true},
		{name: "the first may have it, the second refuses", from: "a", free: true, second: refused, asked: [2]int{0, 1},
			want: notification.Refused, text: "p refused"},
		{name: "the second may have it, the first takes it", from: "b", free: true, asked: [2]int{1, 0}, provider: "a", repeats: true},
		{name: "the second may have it", from: "b", asked: [2]int{0, 1}, provider: "b"},
		{name: "the first may have it, and is busy", from: "a", first: busy, asked: [2]int{1, 0}, want: notification.Busy, text: "p is busy"},
		{name: "the provider that may have it is gone", from: "c", asked: [2]int{1, 0}, provider: "a", repeats: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			first, second := &told{err: tt.first}, &told{err: tt.second}
			both := limit.NewFailover(nil, &limit.Provider{Name: "a", Sender: first}, &limit.Provider{Name: "b", Sender: second})

			answer, err := both.Send(t.Context(), notification.Message{Provider: tt.from, AnyProvider: tt.free})

			require.Equal(t, tt.asked, [2]int{first.asked, second.asked})
			require.Equal(t,
				map[string]map[notification.AttemptOutcome]int64{"a": counted(tt.asked[0], tt.first), "b": counted(tt.asked[1], tt.second)},
				both.Calls())
			require.Equal(t, tt.provider, answer.Provider)
			require.Equal(t, tt.want == "" && tt.asked[0] == 1 && tt.asked[1] == 1, answer.Failover)
			require.Equal(t, tt.repeats, answer.MayRepeat)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var failure *notification.ProviderError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.want, failure.Class)
			require.Equal(t, tt.later, failure.Elsewhere)
			require.EqualError(t, err, tt.text)
		})
	}
}

// counted returns the outcomes of a provider whose answer is err, or none if it was not asked.
func counted(asked int, err error) map[notification.AttemptOutcome]int64 {
	outcome := notification.OutcomeSent
	var failure *notification.ProviderError
	if errors.As(err, &failure) {
		outcome = failure.Class.Outcome()
	}
	if asked == 0 {
		return nil
	}
	return map[notification.AttemptOutcome]int64{outcome: int64(asked)}
}

// No other provider is asked after the deadline, or after an error that no provider caused.
func TestFailoverEnds(t *testing.T) {
	t.Parallel()

	busy := &notification.ProviderError{Provider: "p", Class: notification.Busy}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		msg  notification.Message
		err  error
	}{
		{name: "the deadline has passed", ctx: over, err: busy},
		{name: "the message has expired", ctx: t.Context(), msg: notification.Message{SendBy: time.Now().Add(-time.Second)}, err: busy},
		{name: "an error that no provider caused", ctx: t.Context(), err: errors.New("broken")},
	} {
		second := &told{}
		both := limit.NewFailover(nil, &limit.Provider{Name: "a", Sender: &told{err: tt.err}}, &limit.Provider{Name: "b", Sender: second})
		_, err := both.Send(tt.ctx, tt.msg)
		require.ErrorIs(t, err, tt.err, tt.name)
		require.Zero(t, second.asked, tt.name)
	}
}

// A provider at its rate limit gets no more messages from any process: the next provider gets them. A
// message that the first provider may have waits. Each provider has a separate limit.
func TestRateLimitOfProvider(t *testing.T) {
	t.Parallel()

	const oneADay = 1 / 86400.
	db := postgrestest.New(t)
	first, second := &told{}, &told{}
	both := func() *limit.Failover {
		return limit.NewFailover(limit.NewCircuits(limit.On(db)), &limit.Provider{Name: "a", Sender: first, RateLimit: oneADay},
			&limit.Provider{Name: "b", Sender: second})
	}
	here, there := both(), both()
	sendSome(t, here, 3)
	sendSome(t, there, 3)
	require.Equal(t, 1, first.asked)
	require.Equal(t, 5, second.asked)

	_, err := there.Send(t.Context(), notification.Message{Provider: "a"})
	require.ErrorIs(t, err, notification.ErrBackOff)
	require.Equal(t, map[string]bool{"a": false, "b": false}, there.OpenCircuits())

	limited := limit.NewFailover(limit.NewCircuits(limit.On(db)), &limit.Provider{Name: "c", Sender: first, RateLimit: 20})
	sendSome(t, limited, 10)
	require.Equal(t, 11, first.asked, "each message waited for its turn")

	db.Close()
	_, err = limited.Send(t.Context(), notification.Message{})
	require.ErrorIs(t, err, notification.ErrBackOff, "without the database there are no turns")
}
