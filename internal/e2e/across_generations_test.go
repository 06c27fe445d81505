package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// next is the generation of a changed build.
const next = workflows.CommandVersion + 1

// buildNext builds the worker of the next generation, once. Its events begin with a timer.
var buildNext = sync.OnceValues(func() (programs string, err error) {
	source, err := filepath.Abs(filepath.Join("..", "..", "workflows", "notify_event.go"))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const begins = "\tpublished := publishEvent(ctx, in)\n"
	changed := strings.NewReplacer(
		fmt.Sprintf("\nconst CommandVersion = %d\n", workflows.CommandVersion), fmt.Sprintf("\nconst CommandVersion = %d\n", next),
		begins, fmt.Sprintf("\tif in.CommandVersion >= %d {\n\t\t_ = workflow.Sleep(ctx, time.Millisecond)\n\t}\n%s", next, begins),
	).Replace(string(text))
	programs = filepath.Join(binaries, "next")
	replacement, overlay := filepath.Join(programs, "notify_event.go"), filepath.Join(programs, "overlay.json")
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{source: replacement}})
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(programs, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(replacement, []byte(changed), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, files, 0o600); err != nil {
		return "", err
	}
	said, err := exec.Command("go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", programs, "herald/worker").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the next generation: %w\n%s", err, said)
	}
	return programs, nil
})

// nextWorker starts a worker of the next generation.
func (u *upgrade) nextWorker(settings ...string) *worker {
	u.t.Helper()
	changed := *u.system
	changed.programs = must(buildNext())(u.t)
	changed.env = append(changed.env[:len(changed.env):len(changed.env)], settings...)
	return changed.startWorker()
}

// tooNew starts an event with commands that its workers do not know. A process does that if it reads a
// promotion before all task queues know the promotion.
func (u *upgrade) tooNew() {
	u.t.Helper()
	id := u.name + "-too-new"
	u.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at) VALUES ($1, 'RETRY', 'CUSTOMER', '2', '{}', 'PROCESSED', now())`, id)
	u.exec(`INSERT INTO processed_event (event_id) VALUES ($1)`, id)
	launcher := launch.Launcher{Client: u.temporal, Prefix: u.name, PublishEvents: true, Generation: next}
	require.NoError(u.t, launcher.StartEvent(u.t.Context(), notification.PendingEvent{ID: id, Type: "RETRY"}))
	u.events = append(u.events, id)
	u.awaitCount(1, `SELECT count(*) FROM notification WHERE event_id = $1`, id)
}

// begunBy counts the workflows whose last task was done by a worker of a generation.
func (u *upgrade) begunBy(generation int) int64 {
	u.t.Helper()
	query := fmt.Sprintf("TemporalWorkerDeploymentVersion = '%s:%d'", launch.Deployment(client.DefaultNamespace, u.name), generation)
	return must(u.temporal.CountWorkflow(u.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query}))(u.t).GetCount()
}

// ramp sends a percentage of the workflows to the next generation, and writes events meanwhile.
func (u *upgrade) ramp(percent, said string) {
	u.t.Helper()
	u.orders(said, "ramp", percent)
	u.load(3, func(int) {})
}

// orders repeats a command of `starter workers` until it succeeds. Temporal takes a while to learn a
// worker's queues, and a busy server may time out.
func (u *upgrade) orders(said string, args ...string) {
	u.t.Helper()
	u.eventually(func() bool {
		output, err := u.tryStarter(append([]string{"workers"}, args...)...)
		if err != nil {
			u.t.Log(output)
		}
		return err == nil && strings.Contains(output, said)
	}, "%v never succeeds", args)
}

// lastHasTimer reports whether the last event issued the command of the next generation.
func (u *upgrade) lastHasTimer() bool {
	u.t.Helper()
	id := u.events[len(u.events)-1]
	u.awaitSuccess(id)
	history := u.temporal.GetWorkflowHistory(u.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		if must(history.Next())(u.t).GetEventType() == enums.EVENT_TYPE_TIMER_STARTED {
			return true
		}
	}
	return false
}

// A changed build is deployed while workflows of every kind run. Its workers get half of the
// workflows, then none, then all, and are promoted. Then the old workers stop.
func TestRamp(t *testing.T) {
	t.Parallel()

	u, old := newUpgradeOf(t, func(s *system) *worker { return s.startWorker() })
	u.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('OFFER', 'PUSH')`)
	u.exec(`INSERT INTO event_type_approval (event_type, over) VALUES ('OFFER', 0)`)
	u.add("OFFER", "CUSTOMER/1")
	u.awaitCount(1, `SELECT count(*) FROM processed_event WHERE outcome = 'AWAITING_APPROVAL'`)
	u.fails(1, "is not newer than the current generation", "workers", "ramp", "50", fmt.Sprint(workflows.CommandVersion))
	u.tooNew()
	u.nextWorker("WORKER_PROMOTE=manual")

	u.ramp("50", "generation 5 gets 50 % of all workflows, and generation 4 the rest")
	u.eventually(func() bool { return u.begunBy(next) > 0 }, "the next generation gets no tasks")
	listed := u.starter("workers", "list")
	require.Regexp(t, `(?m)^5 +RAMPING 50 % +\d `, listed)
	require.Regexp(t, `(?m)^4 +CURRENT +\d `, listed)
	u.ramp("0", "generation 4 gets all tasks")
	restarted := u.nextWorker()
	require.Contains(t, restarted.output.String(), "an operator went back from generation 5 to 4")
	require.NoError(t, restarted.stop())
	u.ramp("100", "generation 5 gets 100 %")
	require.False(t, u.lastHasTimer(), "before the promotion, events start with the older commands")
	u.orders("generation 5 is current", "promote")
	require.Regexp(t, `(?m)^4 +DRAINING +\d `, u.starter("workers", "list"))
	require.NoError(t, old.stop())
	u.load(8, func(int) {})

	require.NoError(t, u.temporal.SignalWorkflow(t.Context(), u.name+"-offer", "", workflows.Approve, map[string]any{"approved": true, "by": "carla"}))
	u.ends(0)
	require.True(t, u.lastHasTimer(), "after the promotion, events start with the newer commands")
	require.Equal(t, 3, u.count(`SELECT count(DISTINCT detail) FROM operator_action WHERE command = 'workers ramp'`))
	u.eventually(func() bool { return !strings.Contains("\n"+u.starter("workers", "list"), "\n4 ") }, "the old generation never drains")
}
