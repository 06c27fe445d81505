package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rate limit applies only to calls to the provider: a delivery that is cancelled, while
// it waits or is queued, is recorded at once.
func TestRateLimitIsTheProvidersAlone(t *testing.T) {
	t.Parallel()

	const perSecond, waiting, queued = 0.05, 20, 10 // one in 20 s: at that rate the cancellations would take ten minutes
	s := newSystem(t, fmt.Sprintf("EMAIL_RATE_LIMIT=%v", perSecond))
	s.prepareLoad()
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay) VALUES
		('LATER', 'EMAIL', 'DELAYED', '1 hour'), ('NOW', 'EMAIL', 'IMMEDIATE', '0')`)
	begun := time.Now()
	s.startWorker("--events", "--channels", "email")
	s.starter("poller", "start")
	for i := range waiting + queued {
		eventType := "LATER"
		if i >= waiting {
			eventType = "NOW"
		}
		s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, $2, 'CUSTOMER', '1', '{"number":1}')`,
			s.eventID(eventType, i), eventType)
	}
	s.awaitCount(waiting+queued, `SELECT count(*) FROM notification`)

	s.starter("delivery", "cancel", "--status", "PENDING", "--yes")
	s.awaitCount(0, `SELECT count(*) FROM notification WHERE status = 'PENDING'`)

	accepted := len(s.accepted())
	require.LessOrEqual(t, float64(accepted), 1+perSecond*time.Since(begun).Seconds())
	require.Equal(t, waiting+queued-accepted, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED'`))
}
