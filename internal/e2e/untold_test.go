package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/workflows"
)

// What told nobody, or not everybody, is found by its outcome wherever an operator looks,
// and tells those who were left out once the rules are mended. Nobody is told twice.
func TestEventsThatToldNobody(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('PATH', 'EMAIL'), ('HALF', 'EMAIL')`)
	s.exec(`INSERT INTO recipient (user_type, user_id, name, email) VALUES ('CUSTOMER', '2', 'Bo', 'bo@example.com')`)
	s.exec(`INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path) VALUES
		('PATH', 'CUSTOMER', 'CUSTOMER', 'patient.id'), ('HALF', 'CUSTOMER', 'CUSTOMER', '@aggregate'), ('HALF', 'CUSTOMER', 'CUSTOMER', 'friend.id')`)
	w := s.startWorker()
	s.starter("poller", "start")

	ended := map[notification.EventOutcome]string{
		notification.NoRouting:    s.emit(s.name+"-routing", "UNROUTED", "CUSTOMER/1", `{"number":1}`),
		notification.NoRecipients: s.emit(s.name+"-path", "PATH", "CUSTOMER/1", `{"customerId":1,"number":1}`),
		notification.EventProblem: s.emit(s.name+"-half", "HALF", "CUSTOMER/1", `{"friendId":2,"number":1}`),
	}
	nobody := s.emit(s.name+"-nobody", "LOAD", "CUSTOMER/999", `{"number":1}`)
	told := s.emit(s.name+"-told", "LOAD", "CUSTOMER/1", `{"number":1}`)
	s.awaitSuccess(ended[notification.NoRouting], ended[notification.NoRecipients], ended[notification.EventProblem], nobody, told)

	status := s.starter("status")
	for outcome, id := range ended {
		s.requireOutcome(outcome, id)
		require.Contains(t, status, "starter event list --outcome "+string(outcome))
	}
	for outcome, count := range map[string]int{"NO_ROUTING": 1, "NO_RECIPIENTS": 2, "PROBLEM": 1, "TOLD": 1, "FAILED": 0} {
		line := fmt.Sprintf("herald_events_total{outcome=%q} %d\n", outcome, count)
		s.eventually(func() bool { return strings.Contains(w.metrics(), line) }, "there is no %s", line)
	}
	require.NotContains(t, s.starter("event", "list", "--outcome", "no_recipients"), told)
	s.fails(2, "NO_RECIPIENTS, NO_ROUTING, PROBLEM", "event", "list", "--outcome", "nobody")
	s.fails(1, "told everybody whom the rules named", "event", "retry", told)

	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('UNROUTED', 'EMAIL')`)
	s.exec(`UPDATE event_type_recipients SET entity_id_path = 'customerId' WHERE entity_id_path = 'patient.id'`)
	s.exec(`UPDATE event_type_recipients SET entity_id_path = 'friendId' WHERE entity_id_path = 'friend.id'`)
	require.Contains(t, s.starter("event", "retry", ended[notification.NoRouting], "--dry-run"), "would be planned anew")
	s.requireOutcome(notification.NoRouting, ended[notification.NoRouting])
	require.Contains(t, s.starter("event", "retry", ended[notification.NoRouting], ended[notification.EventProblem]), "is planned anew")
	require.Regexp(t, `done +2`, s.starter("event", "retry", "--outcome", "no_recipients"))

	mended := []string{ended[notification.NoRouting], ended[notification.NoRecipients], ended[notification.EventProblem]}
	s.awaitCount(len(mended), `SELECT count(*) FROM processed_event WHERE event_id = ANY ($1) AND status = 'SUCCESS' AND outcome IS NULL AND problem IS NULL`, mended)
	s.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'NO_RECIPIENTS'`, nobody) // nobody mended that
	accepted := s.accepted()
	for _, id := range []string{mended[0] + "-customer1-EMAIL", mended[1] + "-customer1-EMAIL", mended[2] + "-customer1-EMAIL", mended[2] + "-customer2-EMAIL"} {
		require.Equal(t, 1, accepted[id], id)
	}
	require.Len(t, accepted, 4+loadChannels)
	require.Len(t, s.take("notification.customer"), 5, "the message of an event is published once")
	s.fails(1, "told everybody", "event", "retry", mended[0])
}

// requireOutcome requires that lists, show and the workflow agree on how an event ended.
func (s *system) requireOutcome(outcome notification.EventOutcome, id string) {
	s.t.Helper()
	var result workflows.NotifyResult
	require.NoError(s.t, s.temporal.GetWorkflow(s.t.Context(), id, "").Get(s.t.Context(), &result))
	require.Equal(s.t, outcome, result.Outcome)
	require.Contains(s.t, s.starter("event", "list", "--outcome", string(outcome)), id)
	shown := s.starter("event", "show", id)
	require.Contains(s.t, shown, "SUCCESS ("+string(outcome)+")")
	require.Regexp(s.t, `HeraldOutcome +`+string(outcome), shown)
	require.Contains(s.t, shown, result.Problem)
	require.Contains(s.t, shown, "`starter event retry "+id+"`")
}

// A view of the directory that breaks planning is named with its reason, and planning
// goes on by itself once the view is mended.
func TestPlanningFails(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.exec(`ALTER TABLE entity_member RENAME TO our_member`)
	s.exec(`CREATE VIEW entity_member AS SELECT entity_type, entity_id, user_type, user_id, active FROM our_member`)
	s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("broken", 1)
	id := s.eventID("broken", 0)

	shown := ""
	s.eventually(func() bool {
		shown = s.starter("event", "show", id)
		return strings.Contains(shown, "planning failed")
	}, "nothing is said of %s", id)
	require.Regexp(t, `activity +PlanDeliveries \w+, attempt \d+`, shown)
	require.Regexp(t, `last failure .*SQLSTATE 42703: column .*role.* does not exist`, shown)
	require.Regexp(t, `next +planning failed .*column.*view.*goes on by itself`, shown)
	require.NotContains(t, shown, "ada@")

	s.exec(`CREATE OR REPLACE VIEW entity_member AS SELECT entity_type, entity_id, user_type, user_id, active, role FROM our_member`)
	s.awaitSuccess(id)
	s.waitForLoad(1)
}
