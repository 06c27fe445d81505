package channel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
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
	unreachable := &notification.ProviderError{Provider: "p", Class: notification.Ambiguous, Code: "no connection", Unsent: true}
	busy, account, refused, ambiguous := fails(notification.Busy), fails(notification.Account), fails(notification.Refused), fails(notification.Ambiguous)
	tests := []struct {
		name     string
		from     string // the provider that may have the message
		first    error
		second   error
		asked    [2]int
		provider string
		want     notification.FailureClass // empty: it is sent
		text     string
	}{
		{name: "the first takes it", asked: [2]int{1, 0}, provider: "a"},
		{name: "busy", first: busy, asked: [2]int{1, 1}, provider: "b"},
		{name: "account rejected", first: account, asked: [2]int{1, 1}, provider: "b"},
		{name: "no connection", first: unreachable, asked: [2]int{1, 1}, provider: "b"},
		{name: "the message is refused", first: refused, asked: [2]int{1, 0}, want: notification.Refused, text: "p refused"},
		{name: "no clear answer", first: ambiguous, asked: [2]int{1, 0}, provider: "a", want: notification.Ambiguous, text: "p gave no clear answer"},
		{name: "no clear answer from the second", first: busy, second: ambiguous, asked: [2]int{1, 1}, provider: "b", want: notification.Ambiguous, text: "p is busy; p gave no clear answer"},
		{name: "both are busy", first: busy, second: busy, asked: [2]int{1, 1}, want: notification.Busy, text: "p is busy; p is busy"},
		{name: "busy, then account rejected", first: busy, second: account, asked: [2]int{1, 1}, want: notification.Busy, text: "p is busy; p rejected our account"},
		{name: "both reject the account", first: account, second: account, asked: [2]int{1, 1}, want: notification.Account, text: "p rejected our account; p rejected our account"},
		{name: "both are out of reach", first: unreachable, second: unreachable, asked: [2]int{1, 1}, want: notification.Ambiguous, text: "p gave no clear answer: no connection; p gave no clear answer: no connection"},
		{name: "the second may have it", from: "b", asked: [2]int{0, 1}, provider: "b"},
		{name: "the first may have it, and is busy", from: "a", first: busy, asked: [2]int{1, 0}, want: notification.Busy, text: "p is busy"},
		{name: "the provider that may have it is gone", from: "c", asked: [2]int{1, 0}, provider: "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			first, second := &told{err: tt.first}, &told{err: tt.second}
			both := channel.NewFailover(nil, &channel.Provider{Name: "a", Sender: first}, &channel.Provider{Name: "b", Sender: second})

			answer, err := both.Send(t.Context(), notification.Message{Provider: tt.from})

			require.Equal(t, tt.asked, [2]int{first.asked, second.asked})
			require.Equal(t, map[string]map[notification.AttemptOutcome]int64{"a": counted(tt.asked[0], tt.first), "b": counted(tt.asked[1], tt.second)}, both.Calls())
			require.Equal(t, tt.provider, answer.Provider)
			require.Equal(t, tt.want == "" && tt.asked[0] == 1 && tt.asked[1] == 1, answer.Failover)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var failure *notification.ProviderError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.want, failure.Class)
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
		both := channel.NewFailover(nil, &channel.Provider{Name: "a", Sender: &told{err: tt.err}}, &channel.Provider{Name: "b", Sender: second})
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
	both := func() *channel.Failover {
		return channel.NewFailover(channel.NewBoard(db), &channel.Provider{Name: "a", Sender: first, RateLimit: oneADay}, &channel.Provider{Name: "b", Sender: second})
	}
	here, there := both(), both()
	sendSome(t, here, 3)
	sendSome(t, there, 3)
	require.Equal(t, 1, first.asked)
	require.Equal(t, 5, second.asked)

	_, err := there.Send(t.Context(), notification.Message{Provider: "a"})
	require.ErrorIs(t, err, notification.ErrProvidersRest)
	require.Equal(t, map[string]bool{"a": false, "b": false}, there.Resting())

	limited := channel.NewFailover(channel.NewBoard(db), &channel.Provider{Name: "c", Sender: first, RateLimit: 20})
	sendSome(t, limited, 10)
	require.Equal(t, 11, first.asked, "each message waited for its turn")

	db.Close()
	_, err = limited.Send(t.Context(), notification.Message{})
	require.ErrorIs(t, err, notification.ErrProvidersRest, "without the database there are no turns")
}
