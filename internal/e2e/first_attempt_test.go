package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorkerKilledDuringAFirstAttempt kills a worker after the provider has taken a message,
// and before it answers. The first attempt is a local activity, which dies with the task of its
// workflow. The next worker cannot know what became of it: it sends the message once more, after
// the time that the call may have taken.
func TestWorkerKilledDuringAFirstAttempt(t *testing.T) {
	t.Parallel()

	s := newSystem(t, crashTimeouts...)
	s.prepareLoad()
	s.exec(`DELETE FROM event_type_channel_routing WHERE channel_type <> 'EMAIL'`)
	taken := s.answerOnlyLater()
	w := s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("killed", 1)
	event := s.eventID("killed", 0)
	delivery := event + "-customer1-EMAIL"
	s.eventually(func() bool { return len(taken) > 0 }, "the provider was never asked")
	described, err := s.temporal.DescribeWorkflowExecution(t.Context(), delivery, "")
	require.NoError(t, err)
	require.Empty(t, described.GetPendingActivities(), "it is no activity of its own")
	require.Contains(t, s.starter("delivery", "why", delivery), "attempt 1 of 3 is under way, since ")
	w.kill()

	s.startWorker()
	s.awaitDelivery(delivery, "SENT")
	s.awaitSuccess(event)

	require.Equal(t, map[string]int{delivery: 2}, s.accepted(), "one duplicate, of one call that was under way")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND attempt_count = 2 AND last_error IS NULL`, delivery))
	require.Equal(t, 1, s.count(`
		SELECT count(*)
		FROM   delivery_attempt lost, delivery_attempt sent
		WHERE  (lost.delivery_id, lost.attempt) = ($1, 1)
		AND    (sent.delivery_id, sent.attempt) = ($1, 2)
		AND    lost.outcome = 'LOST'
		AND    sent.outcome = 'SENT'
		AND    sent.started_at > lost.started_at + interval '10 seconds'`, delivery))
	why := s.starter("delivery", "why", delivery)
	require.Regexp(t, `(?m)^1 .* LOST .* a crash ended it: the next one may be a repeat$`, why)
	require.Regexp(t, `(?m)^2 .* SENT `, why)
}

// answerOnlyLater has the provider of mails take the first message, and not answer until the
// worker is gone. The channel that it returns then has an element.
func (s *system) answerOnlyLater() (taken <-chan struct{}) {
	s.t.Helper()
	provider, err := url.Parse(s.sandbox.URL)
	require.NoError(s.t, err)
	forward, first, asked := httputil.NewSingleHostReverseProxy(provider), sync.Once{}, make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // a worker looks whether the provider can be reached
			forward.ServeHTTP(w, r)
			return
		}
		answer := http.ResponseWriter(w)
		first.Do(func() { answer = httptest.NewRecorder() })
		forward.ServeHTTP(answer, r)
		if answer != w {
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	s.t.Cleanup(server.Close)
	s.env = append(s.env, "SENDGRID_BASE_URL="+server.URL)
	return asked
}
