package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/notification"
	"herald/workflows"
)

// An installation goes to the next generation, back as docs/upgrading.md says, and to the next
// again. Events come all the time, and an operator cancels at each step.
func TestRollback(t *testing.T) {
	t.Parallel()

	u, old := newUpgrade(t, shared(t))
	stopLoad := u.underLoad()
	fresh := u.nextWorker()
	u.awaitGeneration(next)
	require.NoError(t, old.stop())
	u.addSmall()
	waiting := u.addCancelled(3)
	u.awaitSome(2, `SELECT count(*) FROM notification WHERE event_type = 'RETRY'`)

	old = u.startWorker()
	u.documented("starter workers promote 4 --rollback")
	u.awaitGeneration(workflows.CommandVersion)
	require.NoError(t, fresh.stop())
	require.NoError(t, u.temporal.CancelWorkflow(t.Context(), u.cancelled[0], ""))
	u.starter("delivery", "cancel", waiting[1])
	u.terminate()
	u.starter("delivery", "cancel", waiting[2])
	u.documented("starter poller start")
	u.exec(`UPDATE notification SET send_after = now() WHERE event_id = $1`, u.cancelled[0]) // the sweep leaves it alone until then
	u.restore()
	for _, id := range waiting {
		u.awaitDelivery(id, "CANCELLED")
	}

	fresh = u.nextWorker()
	u.documented("temporal worker deployment set-ramping-version")
	u.starter("workers", "promote")
	u.awaitGeneration(next)
	require.NoError(t, old.stop())
	stopLoad()
	u.load(1, func(int) {})
	require.True(t, u.lastHasTimer())
	u.ends(slots)
	require.LessOrEqual(t, len(u.messages())-len(u.accepted()),
		u.count(`SELECT count(*) FROM delivery_attempt WHERE outcome IN ('LOST', 'AMBIGUOUS')`), "repeats without an interrupted attempt")
	require.NoError(t, fresh.stop())
}

// underLoad writes up to four events a second until the returned function is called. It waits while many
// have not ended: else a standstill of the workers would become a flood for Temporal.
func (u *upgrade) underLoad() (stop func()) {
	const many = 40
	const insert = `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT $1, 'LOAD', 'CUSTOMER', '1', '{}'
		WHERE  $3 > (SELECT count(*) FROM event_outbox LEFT JOIN processed_event p USING (event_id)
		             WHERE event_id LIKE $2 AND coalesce(p.status, 'PROCESSING') = 'PROCESSING')`
	done, ended, ids := make(chan struct{}), make(chan struct{}), []string(nil)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(250 * time.Millisecond):
			}
			id := fmt.Sprintf("%s-steady-%d", u.name, len(ids))
			written, err := u.store.Pool.Exec(u.t.Context(), insert, id, u.name+"-steady-%", many)
			if !assert.NoError(u.t, err) {
				return
			}
			if written.RowsAffected() > 0 {
				ids = append(ids, id)
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(done)
		<-ended
		u.events = append(u.events, ids...)
	})
	u.t.Cleanup(stop)
	return stop
}

// addCancelled writes events whose only deliveries wait, and returns these deliveries.
func (u *upgrade) addCancelled(n int) (deliveries []string) {
	for i := range n {
		id := u.emit(fmt.Sprintf("%s-cancelled-%d", u.name, i), "WAIT", "CUSTOMER/1", "{}")
		u.cancelled = append(u.cancelled, id)
		deliveries = append(deliveries, notification.DeliveryID(id, "customer", "1", notification.Push))
		u.awaitDelivery(deliveries[i], "PENDING")
		u.eventually(func() bool { return u.doneBy(deliveries[i]) == strconv.Itoa(next) }, "the next generation does not take %s", deliveries[i])
	}
	return deliveries
}

// doneBy returns the build ID of the worker that did the last task of a workflow.
func (u *upgrade) doneBy(id string) string {
	described, err := u.temporal.DescribeWorkflow(u.t.Context(), id, "")
	if err != nil {
		return ""
	}
	return described.RawResponse.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

// documented runs the command in docs/upgrading.md that begins with these words, with the names of
// the installation, and returns its output.
func (u *upgrade) documented(begins string) string {
	u.t.Helper()
	said, err := u.documentedIn("docs/upgrading.md", begins)
	require.NoError(u.t, err, said)
	return said
}

// documentedIn runs a command of a document, and returns its output.
func (s *system) documentedIn(document, begins string) (string, error) {
	s.t.Helper()
	text := string(must(os.ReadFile(filepath.Join("../..", document)))(s.t))
	found := regexp.MustCompile(regexp.QuoteMeta(begins) + "[^`\n]*").FindString(text)
	require.NotEmpty(s.t, found, begins)
	command := strings.NewReplacer(" 4 ", fmt.Sprintf(" %d ", workflows.CommandVersion),
		"default/herald:5", fmt.Sprintf("default/%s:%d", s.name, next), "default/herald --build-id 5",
		fmt.Sprintf("default/%s --build-id %d", s.name, next), "herald-events", workflows.EventsQueue(s.name), "herald-sweep",
		workflows.SweepID(s.name),
	).Replace(found)
	run := exec.CommandContext(s.t.Context(), "bash", "-euc",
		"PATH="+binaries+":$PATH:"+must(filepath.Abs("../../.dev/bin"))(s.t)+"; "+command)
	run.Env = s.env
	run.Stdin = strings.NewReader("y\n") // Temporal's CLI asks first
	said, err := run.CombinedOutput()
	s.t.Logf("%s\n%s", command, said)
	return string(said), err
}

// terminate terminates what the older build cannot replay, until the newer generation has no open
// workflow.
func (u *upgrade) terminate() {
	u.t.Helper()
	query := fmt.Sprintf("TemporalWorkerDeploymentVersion = 'default/%s:%d' AND ExecutionStatus = 'Running'", u.name, next)
	u.eventually(func() bool {
		for _, query := range []string{`WorkflowType="NotifyEvent"`, `TemporalWorkerDeploymentVersion=`} {
			u.awaitJob(u.documented("temporal workflow terminate --reason " + notification.RollbackReason + " --query '" + query))
		}
		open := must(u.temporal.CountWorkflow(u.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query}))(u.t)
		return open.GetCount() == 0
	}, "the newer generation keeps workflows")
}

// awaitJob waits until the batch job that Temporal's CLI has started ends.
func (u *upgrade) awaitJob(said string) {
	u.t.Helper()
	job := strings.TrimSpace(said[strings.LastIndex(said, ":")+1:])
	u.eventually(func() bool {
		request := &workflowservice.DescribeBatchOperationRequest{Namespace: client.DefaultNamespace, JobId: job}
		described, err := u.temporal.WorkflowService().DescribeBatchOperation(u.t.Context(), request)
		return err == nil && described.GetState() == enums.BATCH_OPERATION_STATE_COMPLETED
	}, "the job %q does not end", job)
}

// restore lets sweeps start what the rollback has terminated, as if it were old enough.
func (u *upgrade) restore() {
	u.t.Helper()
	u.eventually(func() bool {
		u.exec(`UPDATE processed_event SET created_at = created_at - interval '16 minutes' WHERE status = 'PROCESSING' AND restarts = 0`)
		u.exec(`UPDATE notification SET created_at = created_at - interval '16 minutes' WHERE status = 'PENDING' AND restarts = 0`)
		before := u.count(`SELECT coalesce(max(id), 0) FROM sweep`)
		schedule := u.temporal.ScheduleClient().GetHandle(u.t.Context(), workflows.SweepID(u.name))
		u.eventually(func() bool { // else Temporal skips the sweep that the command orders
			described, err := schedule.Describe(u.t.Context())
			return err == nil && len(described.Info.RunningWorkflows) == 0
		}, "a sweep does not end")
		u.documented("temporal schedule trigger")
		u.awaitSome(1, fmt.Sprintf(`SELECT count(*) FROM sweep WHERE id > %d`, before))
		return u.count(`SELECT count(*) FROM sweep WHERE id > $1 AND (started_again > 0 OR closed > 0 OR failed > 0)`, before) == 0
	}, "the sweep does not come to an end")
}
