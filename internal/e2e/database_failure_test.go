package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A database's error may quote the row that it refuses. Histories and logs therefore have
// only the statement and the error's code.
func TestDatabaseFailuresQuoteNoValue(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'no attempt at %', NEW.recipient_address USING ERRCODE = 'P0007';
	END $$`)
	s.exec(`CREATE TRIGGER refuse BEFORE UPDATE ON notification FOR EACH ROW EXECUTE FUNCTION refuse()`)
	w := s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("refused", 1)
	id := s.eventID("refused", 0) + "-customer1-EMAIL"

	said := ""
	s.eventually(func() bool {
		description, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil || len(description.GetPendingActivities()) == 0 || description.GetPendingActivities()[0].GetLastFailure() == nil {
			return false
		}
		said = description.GetPendingActivities()[0].GetLastFailure().String()
		return true
	}, "%s has no failed attempt", id)
	require.Contains(t, said, "begin attempts: SQLSTATE P0007")
	require.NotContains(t, said, "ada@")
	require.NotContains(t, w.output.String(), "ada@")
}
