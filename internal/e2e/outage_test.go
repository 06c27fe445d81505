package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProviderOutage lets one provider answer 503 and another hang. The third goes on.
func TestProviderOutage(t *testing.T) {
	t.Parallel()

	const events = 60
	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=100", "EMAIL_RETRY_INTERVAL=5s", "EMAIL_RETRY_COEFFICIENT=1", "SMS_MAX_ATTEMPTS=100", "SMS_TIMEOUT=10s")
	s.prepareLoad()
	s.fault("EMAIL", `{"status":503,"retry_after":"5s"}`)
	s.fault("SMS", `{"latency":"5m"}`)
	s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("outage", events)

	s.awaitCount(events, `SELECT count(*) FROM notification WHERE channel = 'PUSH' AND status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE channel <> 'PUSH' AND status = 'SENT'`))
	s.awaitCount(2*events, `SELECT count(*) FROM notification n WHERE channel <> 'PUSH' AND 2 <= (
			SELECT count(*) FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.outcome = 'AMBIGUOUS')`)

	s.mend()
	s.waitForLoad(events)
	s.requireLedger([]string{"outage"}, events, 0)
}

// TestGracefulStop stops a worker during a slow call to a provider. The worker records the
// message and exits with 0.
func TestGracefulStop(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.fault("EMAIL", `{"latency":"5s"}`)
	w := s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("stop", 1)
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND attempt_until > now()`)

	require.NoError(t, w.stop(), "%s", w.output)

	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND status = 'SENT'`))
	require.Equal(t, 1, s.count(`SELECT attempt_count FROM notification WHERE channel = 'EMAIL'`))
}

// TestPartOfTheWorker splits the work over processes by --channels and --events.
func TestPartOfTheWorker(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.startWorker("--events")
	s.startWorker("--channels", "email,push")
	s.starter("poller", "start")
	s.writeEvents("part", 3)
	s.awaitCount(6, `SELECT count(*) FROM notification WHERE channel IN ('EMAIL', 'PUSH') AND status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE channel = 'SMS' AND status = 'SENT'`))

	s.startWorker("--channels", "sms")
	s.waitForLoad(3)
}

func TestWorkerRefusesBadSettings(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "OUTBOX_BATCH_SIZE=many", "EMAIL_TIMEOUT=-1s", "SENDGRID_BASE_URL=nowhere", "TWILIO_AUTH_TOKEN=", "TASK_QUEUE_PREFIX=Not Allowed")
	w := s.launchWorker()

	<-w.ended
	require.Error(t, w.err)
	for _, name := range []string{"OUTBOX_BATCH_SIZE", "EMAIL_TIMEOUT", "SENDGRID_BASE_URL", "TWILIO_AUTH_TOKEN", "TASK_QUEUE_PREFIX"} {
		require.Contains(t, w.output.String(), name)
	}
}
