package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/workflows"
)

// large prepares an event NEWS over some channels to many customers.
func (s *system) large(recipients int, channels ...string) {
	s.starter("migrate", "up")
	s.exec(`INSERT INTO recipient (user_type, user_id, email, phone) SELECT 'CUSTOMER', n::text, 'c' || n || '@example.com', '+1201555' || lpad(n::text, 4, '0') FROM generate_series(1, $1::int) n`, recipients)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) SELECT 'NEWS', unnest($1::text[])`, channels)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('News', 'For {{.recipient.user_id}}')`)
	s.starter("poller", "start")
}

func (s *system) emitNews(id string) {
	s.starter("emit", "--event-id", id, "--type", "NEWS", "--aggregate-type", "BROADCAST", "--aggregate-id", "0", "--payload", "{}")
}

// A channel that stands, here since nobody serves it, holds up no other: all of
// the others' deliveries of all pages are made.
func TestAStandingChannelHoldsUpNoOther(t *testing.T) {
	t.Parallel()

	const recipients = 250
	s := newSystem(t)
	s.large(recipients, "EMAIL", "SMS")
	s.startWorker("--events")
	s.startWorker("--channels", "email")
	s.emitNews(s.name + "-news")

	s.eventually(5*time.Minute, func() bool {
		return s.count(`SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND status = 'SENT'`) == recipients
	}, "the e-mails stand still behind SMS")
	require.Equal(t, recipients, s.count(`SELECT count(*) FROM notification WHERE channel = 'SMS' AND status = 'PENDING'`))
}

// An event that was terminated while its deliveries were being made is retried
// while they still close: the new run waits for them, and makes all that were not
// begun. One whose recipient has left meanwhile is among them, and ends as well.
func TestATerminatedEventIsRetried(t *testing.T) {
	t.Parallel()

	const recipients = 150
	s := newSystem(t)
	s.large(recipients, "EMAIL")
	s.fault("email", `{"status":429,"rate":1,"retry_after":"5m"}`)
	s.startWorker("--events")
	mails := s.startWorker("--channels", "email")
	id := s.name + "-news"
	s.emitNews(id)
	s.eventually(time.Minute, func() bool {
		return s.count(`SELECT count(*) FROM delivery_attempt WHERE outcome = 'BUSY'`) == 100 // all that may be open at once
	}, "the e-mails are not tried")
	mails.kill() // so that nothing of them can close
	s.exec(`UPDATE recipient SET active = false WHERE user_id = '150'`)
	s.exec(`UPDATE notification SET created_at = created_at - interval '2 minutes'`) // so that who left is asked for again

	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), id, "", "an operator's word"))
	s.starter("event", "retry", id)
	s.eventually(time.Minute, func() bool { return s.waitsForHolder(id) }, "the new run does not wait for the old one's lane")
	s.mend()
	s.startWorker("--channels", "email")

	var result workflows.NotifyResult
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), &result))
	require.Empty(t, result.Outcome)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE status = 'PENDING'`))
	require.Equal(t, 49, s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE user_id = '150' AND status = 'CANCELLED'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE status = 'SUCCESS' AND outcome IS NULL`))
}

// waitsForHolder says that an event waits for whatever has the id of a child.
func (s *system) waitsForHolder(eventID string) bool {
	described, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), eventID, "")
	if err != nil {
		return false
	}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityType().GetName() == "AwaitHolder" {
			return true
		}
	}
	return false
}
