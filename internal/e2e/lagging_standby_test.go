package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Postgres fails over to a standby that lags: the rows are as before the last commits, while Temporal and
// the providers know more. Nothing is sent again until the commands of docs/disaster.md order it.
func TestPostgresLosesItsLastCommits(t *testing.T) {
	t.Parallel()

	const customers, single = 30, 4
	const perhaps = 6 // two events; the delivery of a third one, and three of the batch
	s := newSystem(t, inBatches)
	s.prepareNews(customers, "EMAIL")
	w := s.startWorker(mailWorker...)
	s.scheduled()
	events := map[string]string{"batch": s.emitNews()}
	for name, who := range map[string]string{"single": "CUSTOMER/1", "open": "CUSTOMER/2", "plan": "CUSTOMER/3", "gone": "CUSTOMER/4"} {
		events[name] = s.emit(s.name+"-"+name, "NEWS", who, "{}")
	}
	for _, id := range events {
		s.awaitSuccess(id)
	}
	s.sentOnce(customers + single)
	s.eventually(func() bool {
		said, err := s.tryStarter("restore", "--dry-run", "--lost-since", "1h")
		return err == nil && strings.Contains(said, "0 of 5 events")
	}, "an event is lost before anything was lost, or Temporal lists too few")

	s.loseCommits(events)
	for _, table := range []string{"event_outbox", "processed_event", "notification"} {
		s.exec(`DELETE FROM `+table+` WHERE event_id = $1`, events["gone"])
	}
	found := s.sweep()
	require.Equal(t, perhaps, found.Ambiguous)
	require.Zero(t, found.StartedAgain+found.Closed+found.Failed)
	require.Contains(t, s.starter("status"), "Postgres has lost the end of 6 rows")
	require.Contains(t, w.metrics(), "herald_ambiguous_rows 6")
	s.fails(1, "their messages may have been sent", "restore", "--rate", "500")
	const document = "docs/disaster.md"
	said, err := s.documentedIn(document, "starter restore --dry-run --lost-since")
	require.Error(t, err)
	require.Regexp(t, `ambiguous +6 open rows`, said)
	require.Regexp(t, `perhaps sent +`+events["plan"], said)
	require.Regexp(t, `lost +1 of 5 events`, said)
	require.Regexp(t, `lost +`+events["gone"], said)
	s.sentOnce(customers + single)

	must(s.documentedIn(document, "starter restore --resend ambiguous"))(t)
	s.eventually(func() bool { return len(s.messages()) == customers+single+perhaps }, "some rows are not sent again")
	s.awaitSuccess(events["open"], events["plan"])
	s.awaitCount(0, `SELECT count(*) FROM notification WHERE status <> 'SENT'`)
	accepted := s.accepted()
	for user, name := range map[string]string{"1": "single", "2": "open", "3": "plan"} {
		require.Equal(t, 2, accepted[notification.DeliveryID(events[name], "customer", user, notification.Email)], name)
		require.Equal(t, 2, accepted[notification.DeliveryID(events["batch"], "customer", user, notification.Email)], name)
	}
	require.Zero(t, s.sweep().Ambiguous)

	s.loseCommits(events)
	said = must(s.documentedIn(document, "starter restore --resend none"))(t)
	require.Regexp(t, `not sent again +7 ambiguous`, said, "two events, one of them with a delivery, and four deliveries")
	require.Equal(t, 5, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED' AND last_error = 'perhaps sent'`))
	require.Equal(t, 2, s.count(`SELECT count(*) FROM processed_event WHERE status = 'FAILED' AND outcome = 'CANCELLED'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM operator_action WHERE command = 'restore' AND detail LIKE '%--resend none%'`))
	require.Zero(t, s.sweep().Ambiguous)
	require.NotContains(t, s.starter("status"), "Postgres has lost")
	require.Len(t, s.messages(), customers+single+perhaps)
	require.NoError(t, w.stop(), "%s", w.output)
}

// loseCommits puts the rows of ended events back to what a standby had that lagged. Of the batch and the
// single event it lacked only the ends of deliveries. Of the open event it lacked all ends, and of the
// fourth event also the plan and the claim.
func (s *system) loseCommits(events map[string]string) {
	s.t.Helper()
	s.exec(`DELETE FROM delivery_attempt`)
	const open = `UPDATE notification SET status = 'PENDING', sent_at = NULL, available_at = NULL, provider = NULL,
		provider_message_id = NULL, attempt_count = 0 WHERE event_id = ANY ($1) AND user_id IN ('1', '2', '3')`
	s.exec(open, []string{events["single"], events["open"], events["batch"]})
	s.exec(`UPDATE processed_event SET outcome = 'INCOMPLETE' WHERE event_id = ANY ($1)`, []string{events["single"], events["batch"]})
	s.exec(`UPDATE processed_event SET status = 'PROCESSING' WHERE event_id = $1`, events["open"])
	s.exec(`DELETE FROM notification WHERE event_id = $1`, events["plan"])
	s.exec(`DELETE FROM notification_decision WHERE event_id = $1`, events["plan"])
	s.exec(`DELETE FROM processed_event WHERE event_id = $1`, events["plan"])
	s.exec(`UPDATE event_outbox SET status = 'PENDING', published_at = NULL WHERE event_id = $1`, events["plan"])
	s.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1`, events["plan"]) // a poller claims it again
	s.exec(`UPDATE processed_event SET created_at = created_at - interval '16 minutes'`)
	s.exec(`UPDATE event_outbox SET published_at = published_at - interval '16 minutes'`)
	s.exec(`UPDATE notification SET created_at = created_at - interval '16 minutes'`)
}
