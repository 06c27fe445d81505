package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"herald/tools/rig"
)

// worker is a running process of the worker, or of another program.
type worker struct {
	*rig.Process
	t      *testing.T
	output *rig.Output
}

// startAll starts a worker and the poller.
func (s *system) startAll(args ...string) *worker {
	s.t.Helper()
	w := s.startWorker(args...)
	s.starter("poller", "start")
	return w
}

// startWorker starts a worker process and waits until it is ready.
func (s *system) startWorker(args ...string) *worker {
	s.t.Helper()
	return s.awaitReady(s.launchWorker(args...))
}

// awaitReady waits until a process is ready.
func (s *system) awaitReady(w *worker) *worker {
	s.t.Helper()
	s.eventually(func() bool {
		require.NoError(s.t, w.Alive())
		return w.ready() == http.StatusOK
	}, "%s is not ready:\n%s", w.Command.Path, w.output)
	return w
}

// launchWorker starts a worker process and does not wait.
func (s *system) launchWorker(args ...string) *worker {
	s.t.Helper()
	return s.launch("worker", []string{"WORKER_HTTP_ADDR=127.0.0.1:0"}, args...)
}

// launch starts a process with additional settings, and does not wait.
func (s *system) launch(program string, settings []string, args ...string) *worker {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.programs, program), args...)
	cmd.Env = append(s.env[:len(s.env):len(s.env)], settings...)
	return s.start(cmd)
}

// start starts a process, which is killed at the end of the test.
func (s *system) start(cmd *exec.Cmd) *worker {
	s.t.Helper()
	process := must(rig.StartCommand(cmd))(s.t)
	w := &worker{process, s.t, process.Output}
	s.t.Cleanup(func() {
		w.kill()
		if s.t.Failed() {
			s.t.Logf("%s output:\n%s", cmd.Path, w.output.Tail(16<<10))
		}
	})
	return w
}

// listensAt matches the address of the health endpoints in a worker's log.
var listensAt = regexp.MustCompile(`"msg":"health endpoints and metrics","addr":"([^"]+)"`)

// addr returns the address of the health endpoints, or "" until the worker has logged it.
func (w *worker) addr() string {
	if said := listensAt.FindStringSubmatch(w.output.String()); said != nil {
		return said[1]
	}
	return ""
}

// ask returns the status of a health endpoint, or 0 if the process does not answer.
func (w *worker) ask(path string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request := must(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.addr()+path, nil))(w.t)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// ready returns the status of /readyz.
func (w *worker) ready() int {
	status, _ := w.ask("/readyz")
	return status
}

// metrics returns the page of the process's metrics.
func (w *worker) metrics() string {
	_, page := w.ask("/metrics")
	return page
}

func (w *worker) kill() { w.Kill() }

func (w *worker) stop() error { return w.Stop() }

// killWhile kills a worker each time the SQL reaches one of the numbers, and starts another. It returns
// the last worker.
func (s *system) killWhile(w *worker, sql string, numbers ...int) *worker {
	s.t.Helper()
	for _, number := range numbers {
		s.awaitSome(number, sql)
		w.kill()
		w = s.startWorker(w.Command.Args[1:]...)
	}
	return w
}

// All programs print their version.
func TestVersion(t *testing.T) {
	t.Parallel()

	build := regexp.MustCompile(`^(worker|starter|gateway|sandbox) \S+ \(commit (\S+), go1\.\S+\)\n$`)
	for _, program := range []string{"worker", "starter", "gateway", "sandbox"} {
		require.Regexp(t, build, string(must(exec.CommandContext(t.Context(), filepath.Join(binaries, program), "--version").Output())(t)))
	}
}

// The poller is paused and resumed with and without a worker. Then the recorded workflows are
// replayed.
func TestPollerPaused(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "HERALD_ACTOR=e2e@host")
	s.prepareLoad()
	s.fails(1, "no poller runs", "poller", "pause")
	w := s.startAll(loadWorker...)
	s.writeEvents("before", 1)
	s.waitForLoad(1)

	require.Contains(t, s.starter("poller", "pause"), "paused  "+s.name+"-outbox-poller-1")
	s.starter("poller", "pause") // has no effect
	require.Regexp(t, "e2e@host +poller pause +"+s.name+"-outbox-poller-1", s.starter("audit", "--target", s.name+"-outbox-poller-1"))
	require.Equal(t, "e2e@host", s.signalledBy(s.name+"-outbox-poller-1"))
	s.writeEvents("meanwhile", 2)
	require.Equal(t, "PAUSED", s.pollerStatus())
	require.Contains(t, s.starter("status"), "PAUSED")
	require.Contains(t, s.starter("poller", "start"), "`starter poller resume` lets it continue")

	require.NoError(t, w.stop()) // the poller stays paused without workers
	w = s.startWorker(loadWorker...)
	require.Equal(t, "PAUSED", s.pollerStatus())
	require.Equal(t, 2, s.count(`SELECT count(*) FROM event_outbox WHERE status = 'PENDING' AND attempt_count = 0`))
	s.exec(`CREATE TABLE resumed AS SELECT clock_timestamp() AS at`)
	s.starter("poller", "resume")
	s.starter("poller", "resume") // has no effect
	require.Equal(t, "RUNNING", s.pollerStatus())
	s.waitForLoad(3)
	require.Equal(t, 2, s.count(`SELECT count(*) FROM event_outbox, resumed WHERE published_at > at`))

	s.replays("PollOutbox", s.name+"-outbox-poller-1")
	s.replays("NotifyEvent", s.eventID("meanwhile", 0))
	s.replays("DeliverNotification", s.eventID("meanwhile", 0)+"-customer1-EMAIL")
	s.fails(1, "no workflow "+s.name+"-nobody is known to Temporal", "replay", s.name+"-nobody")

	s.starter("poller", "pause")
	require.Contains(t, s.starter("poller", "stop"), "stopped  "+s.name+"-outbox-poller-1") // also a paused poller
	require.Equal(t, "CANCELED", s.pollerStatus())
	require.NoError(t, w.stop())

	s.starter("poller", "start")
	require.NoError(t, s.temporal.CancelWorkflow(t.Context(), s.name+"-outbox-poller-1", "")) // like stop, which then waits for a worker
	require.Equal(t, "STOPPING", s.pollerStatus())
	s.starter("poller", "start")
	require.Equal(t, "RUNNING", s.pollerStatus())
	w = s.startWorker(loadWorker...)
	s.writeEvents("anew", 1)
	s.waitForLoad(4)
	require.Equal(t, "RUNNING", s.pollerStatus())
	require.NoError(t, w.stop())
}

// signalledBy returns the identity of the last signal in a workflow's history.
func (s *system) signalledBy(id string) (identity string) {
	s.t.Helper()
	for _, event := range s.history(id).GetEvents() {
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
			identity = signal.GetIdentity()
		}
	}
	return identity
}

func (s *system) pollerStatus() string {
	s.t.Helper()
	var state struct {
		Pollers []struct {
			Status string `json:"status"`
		} `json:"pollers"`
	}
	out := s.starter("poller", "status", "-o", "json")
	require.NoError(s.t, json.NewDecoder(strings.NewReader(out[strings.Index(out, "{"):])).Decode(&state)) // a warning precedes the JSON
	require.Len(s.t, state.Pollers, 1)
	return state.Pollers[0].Status
}

// replays replays a workflow's latest run, by its id and by its run id.
func (s *system) replays(kind, id string) {
	s.t.Helper()
	var view struct {
		RunID string `json:"run_id"`
		Type  string `json:"workflow_type"`
		Clean bool   `json:"clean"`
	}
	out := s.starter("replay", id, "-o", "json")
	require.NoError(s.t, json.NewDecoder(strings.NewReader(out[strings.Index(out, "{"):])).Decode(&view)) // progress precedes the JSON
	require.True(s.t, view.Clean)
	require.Equal(s.t, kind, view.Type)
	require.Contains(s.t, s.starter("replay", id, "--run-id", view.RunID), "replays cleanly: "+kind)
}

// Events whose ids belong to other workflows: a poller, a finished delivery, and an event of
// another installation in the namespace. Each fails with this reason, and the next event continues.
func (s *system) eventIDTaken() {
	s.writeEvents("mine", 1)
	s.awaitDeliveries(s.eventID("mine", 0), "SENT", loadChannels)
	theirs := s.name + "-theirs"
	options := client.StartWorkflowOptions{ID: theirs, TaskQueue: s.name + "-another-events"}
	other := must(s.temporal.ExecuteWorkflow(s.t.Context(), options, "NotifyEvent", map[string]any{"EventID": theirs}))(s.t)
	s.t.Cleanup(func() {
		_ = s.temporal.TerminateWorkflow(context.Background(), theirs, other.GetRunID(), "end of the test")
	})

	options.ID = s.name + "-another-outbox-poller-1"
	poller := must(s.temporal.ExecuteWorkflow(s.t.Context(), options, "PollOutbox", map[string]any{}))(s.t)
	s.t.Cleanup(func() {
		_ = s.temporal.TerminateWorkflow(context.Background(), options.ID, poller.GetRunID(), "end of the test")
	})
	s.eventually(func() bool { // status lists only the newest workflows
		said := s.starter("status")
		require.NotContains(s.t, said, " "+s.name+"-events,")
		return strings.Contains(said, options.TaskQueue)
	}, "status does not warn of the other installation")

	taken := map[string]string{
		s.name + "-outbox-poller-1":               "PollOutbox of task queue " + s.name + "-events",
		s.eventID("mine", 0) + "-customer1-EMAIL": "DeliverNotification of task queue " + s.name + "-email",
		theirs: "NotifyEvent of task queue " + s.name + "-another-events",
	}
	for id := range taken {
		s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
			VALUES ($1, 'LOAD', 'CUSTOMER', '1', '{"number": 1}')`,
			id)
	}
	s.writeEvents("neighbour", 1)
	s.awaitDeliveries(s.eventID("neighbour", 0), "SENT", loadChannels)
	s.awaitCount(len(taken), `SELECT count(*) FROM event_outbox WHERE status = 'FAILED'`)
	for id, who := range taken {
		require.Equal(s.t, 1,
			s.count(`SELECT count(*) FROM event_outbox WHERE event_id = $1 AND error_message = $2`, id, "the id is taken by the workflow "+who), id)
		require.Contains(s.t, s.starter("event", "show", id), who)
	}
}
