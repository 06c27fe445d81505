package e2e_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"herald/workflows"
)

// prepareNews makes many customers reachable about events of type NEWS.
func (s *system) prepareNews(recipients int, channels ...string) {
	s.starter("migrate", "up")
	s.exec(`INSERT INTO recipient (user_type, user_id, email, phone) SELECT 'CUSTOMER', n::text, 'c' || n || '@example.com', '+1201555' || lpad((n % 10000)::text, 4, '0') FROM generate_series(1, $1::int) n`, recipients)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) SELECT 'NEWS', unnest($1::text[])`, channels)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('News', 'For {{.recipient.user_id}}')`)
	s.starter("poller", "start")
}

func (s *system) emitNews() string {
	return s.emit(s.name+"-news", "NEWS", "BROADCAST/0", "{}")
}

// A channel that nobody serves does not delay another: all deliveries of the other, on
// all pages, are made.
func TestChannelsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()

	const recipients = 250
	s := newSystem(t)
	s.prepareNews(recipients, "EMAIL", "SMS")
	s.startWorker("--events")
	s.startWorker("--channels", "email")
	s.emitNews()

	s.awaitCount(recipients, `SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND status = 'SENT'`)
	require.Equal(t, recipients, s.count(`SELECT count(*) FROM notification WHERE channel = 'SMS' AND status = 'PENDING'`))
}

// An event is terminated while its deliveries are made, and retried while they still
// close: the new run waits for them and makes those that had not begun. The recipient of
// one of these has left meanwhile; it ends as well.
func TestTerminatedEventIsRetried(t *testing.T) {
	t.Parallel()

	const recipients = 410
	s := newSystem(t)
	s.prepareNews(recipients, "EMAIL")
	s.fault("email", `{"status":429,"rate":1,"retry_after":"5m"}`)
	s.startWorker("--events")
	mails := s.startWorker("--channels", "email")
	id := s.emitNews()
	const open = 400 // deliveries of a lane at a time
	s.awaitCount(open, `SELECT count(*) FROM delivery_attempt WHERE outcome = 'BUSY'`)
	s.eventually(s.noneIsSending, "an attempt does not end") // what a kill cuts off is made again at once
	mails.kill()                                             // so that none of them can close
	s.exec(`UPDATE recipient SET active = false WHERE user_id = '410'`)
	s.exec(`UPDATE notification SET created_at = created_at - interval '2 minutes'`) // so that membership is asked for again

	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), id, "", "an operator's word"))
	s.starter("event", "retry", id)
	s.eventually(func() bool { return s.waitsForHolder(id) }, "the new run does not wait for the old one's lane")
	s.mend()
	s.startWorker("--channels", "email")

	var result workflows.NotifyResult
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), &result))
	require.Empty(t, result.Outcome)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE status = 'PENDING'`))
	require.Equal(t, recipients-open-1, s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE user_id = '410' AND status = 'CANCELLED'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE status = 'SUCCESS' AND outcome IS NULL`))
}

// noneIsSending says that Temporal knows the end of each attempt that was begun.
func (s *system) noneIsSending() bool {
	rows, _ := s.store.Pool.Query(s.t.Context(), `SELECT delivery_id FROM delivery_attempt`) // CollectRows returns its error
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, id := range ids {
		described, describeErr := s.temporal.DescribeWorkflowExecution(s.t.Context(), id, "")
		err = errors.Join(err, describeErr)
		for _, pending := range described.GetPendingActivities() {
			if pending.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
				return false
			}
		}
	}
	return err == nil
}

// waitsForHolder says that an event waits for the workflow that has the id of a child.
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
