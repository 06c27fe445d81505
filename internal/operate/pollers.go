package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"herald/internal/launch"
	"herald/internal/relay"
	"herald/workflows"
)

const (
	// maxPollers is the largest number of pollers of a source: readers stop there.
	maxPollers = 16
	// pollersAtOnce limits the requests to Temporal that run at the same time.
	pollersAtOnce = 16
)

// Pollers holds the outbox pollers, and the workers that serve them.
type Pollers struct {
	TaskQueue string         `json:"task_queue"`
	Workers   int            `json:"workers"`   // running workers of the task queue
	ServedBy  launch.Workers `json:"served_by"` // also workers that stopped a few minutes ago
	Pollers   []Poller       `json:"pollers"`
	Others    []string       `json:"other_installations,omitempty"` // see [OtherInstallations]
}

// IDs returns the workflow IDs of the pollers.
func (p Pollers) IDs() []string {
	ids := []string{}
	for _, poller := range p.Pollers {
		ids = append(ids, poller.ID)
	}
	return ids
}

// Any reports whether any poller has one of the statuses.
func (p Pollers) Any(statuses ...PollerStatus) bool {
	return slices.ContainsFunc(p.Pollers, func(poller Poller) bool { return slices.Contains(statuses, poller.Status) })
}

// Idle returns the sources without any poller that runs or is paused.
func (p Pollers) Idle() []string {
	var idle []string
	for _, poller := range p.Pollers {
		ofSource := func(other Poller) bool { return other.Source == poller.Source && other.stays() }
		if !slices.Contains(idle, poller.Source) && !slices.ContainsFunc(p.Pollers, ofSource) {
			idle = append(idle, poller.Source)
		}
	}
	return idle
}

// Poller is one poller's workflow and its activity.
type Poller struct {
	ID            string       `json:"id"`
	Source        string       `json:"source"`
	Status        PollerStatus `json:"status"`
	Since         *time.Time   `json:"since"`          // start of the pause, or else of the current run
	LastHeartbeat *time.Time   `json:"last_heartbeat"` // of its activity
	Attempt       int32        `json:"attempt"`        // of its activity; greater than 1 after a failure
	LastFailure   string       `json:"last_failure"`   // of its activity
}

// PollerStatus is a poller's state. A poller that has ended has the status of its workflow:
// COMPLETED, FAILED, CANCELED, TERMINATED or TIMEDOUT.
type PollerStatus string

// The states of a poller that has not ended.
const (
	PollerRunning    PollerStatus = "RUNNING"
	PollerPausing    PollerStatus = "PAUSING" // told to pause; it still starts the events that it has claimed
	PollerPaused     PollerStatus = "PAUSED"
	PollerStopping   PollerStatus = "STOPPING" // told to stop; it starts its claimed events, and ends once a worker runs
	PollerNotStarted PollerStatus = "NOT STARTED"
)

// stays reports whether a poller runs or is paused, and was not told to stop.
func (p Poller) stays() bool {
	return p.Status == PollerRunning || p.Status == PollerPausing || p.Status == PollerPaused
}

func (p Poller) hasEnded() bool { return !p.stays() && p.Status != PollerStopping }

// ReadPollers reads the configured pollers of the sources, and all other pollers of the sources
// that have not ended.
func ReadPollers(ctx context.Context, launcher *launch.Launcher, sources []relay.Source) (Pollers, error) {
	return readPollers(ctx, launcher, sources, func(relay.Source) int { return maxPollers })
}

// ConfiguredPollers reads the configured pollers of the sources. It needs far fewer requests.
func ConfiguredPollers(ctx context.Context, launcher *launch.Launcher, sources []relay.Source) (Pollers, error) {
	return readPollers(ctx, launcher, sources, func(source relay.Source) int { return source.Pollers })
}

// readPollers reads the first pollers of each source.
func readPollers(ctx context.Context, launcher *launch.Launcher, sources []relay.Source, most func(relay.Source) int) (Pollers, error) {
	pollers := Pollers{TaskQueue: workflows.EventsQueue(launcher.Prefix), Pollers: []Poller{}}
	found := make([][]Poller, len(sources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pollersAtOnce)
	group.Go(func() (err error) {
		pollers.ServedBy, err = launch.WorkersOf(ctx, launcher.Client, launcher.Namespace, pollers.TaskQueue)
		return err
	})
	for i, source := range sources {
		found[i] = make([]Poller, most(source))
		for n := range found[i] {
			group.Go(func() (err error) {
				found[i][n], err = readPoller(ctx, launcher, workflows.PollerID(launcher.Prefix, source.Name, n+1))
				found[i][n].Source = source.Name
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return Pollers{}, err
	}
	pollers.Workers = pollers.ServedBy.Running()
	for i, source := range sources {
		for n, poller := range found[i] {
			if n < source.Pollers || !poller.hasEnded() {
				pollers.Pollers = append(pollers.Pollers, poller)
			}
		}
	}
	return pollers, nil
}

// RunningPollers reads the pollers of the sources that have not ended.
func RunningPollers(ctx context.Context, launcher *launch.Launcher, sources []relay.Source) (Pollers, error) {
	sources = slices.Clone(sources)
	for i := range sources {
		sources[i].Pollers = 0
	}
	return ReadPollers(ctx, launcher, sources)
}

func readPoller(ctx context.Context, launcher *launch.Launcher, id string) (Poller, error) {
	poller := Poller{ID: id, Status: PollerNotStarted}
	description, err := launch.Describe(ctx, launcher.Client, id, "")
	if err != nil || description == nil {
		return poller, err
	}
	info := description.GetWorkflowExecutionInfo()
	poller.Status = PollerStatus(strings.ToUpper(info.GetStatus().String()))
	poller.Since = launch.Time(info.GetStartTime())
	if since, paused := pausedSince(info.GetMemo()); paused && poller.Status == PollerRunning {
		poller.Status, poller.Since = PollerPaused, since
	}
	for _, activity := range description.GetPendingActivities() {
		if poller.Status == PollerPaused || isPausing(description, activity) {
			poller.Status = PollerPausing
		}
		poller.LastHeartbeat = launch.Time(activity.GetLastHeartbeatTime())
		poller.Attempt = activity.GetAttempt()
		poller.LastFailure = activity.GetLastFailure().GetMessage()
	}
	if info.GetStatus() == running && description.GetWorkflowExtendedInfo().GetCancelRequested() {
		poller.Status = PollerStopping
	}
	return poller, nil
}

// isPausing reports whether a poller was told to pause, and its activity has not ended. The
// activity of a poller that was told to stop looks the same.
func isPausing(poller *workflowservice.DescribeWorkflowExecutionResponse, activity *workflowpb.PendingActivityInfo) bool {
	return poller.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING &&
		activity.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED && !poller.GetWorkflowExtendedInfo().GetCancelRequested()
}

// pausedSince returns the time in the memo of a paused poller, and whether the poller is paused.
func pausedSince(memo *commonpb.Memo) (*time.Time, bool) {
	payload, paused := memo.GetFields()[workflows.PausedMemo]
	if !paused {
		return nil, false
	}
	var since time.Time
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &since); err != nil {
		return nil, true // it was paused by a build that encodes the time differently
	}
	return &since, true
}

// maxOthers is the number of other installations' pollers that are read.
const maxOthers = 20

// OtherInstallations returns the task queues of other installations whose pollers run in the same
// namespace. It reads up to 20 pollers. It does not see an installation with the same prefix, or
// one that shares only the broker.
func OtherInstallations(ctx context.Context, launcher *launch.Launcher) ([]string, error) {
	found, err := launcher.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: maxOthers,
		Query: fmt.Sprintf("WorkflowType = 'PollOutbox' AND ExecutionStatus = 'Running' AND TaskQueue != '%s'",
			workflows.EventsQueue(launcher.Prefix)),
	})
	if err != nil {
		return nil, fmt.Errorf("look for other installations: %w", err)
	}
	queues := []string{}
	for _, execution := range found.GetExecutions() {
		queues = append(queues, execution.GetTaskQueue())
	}
	slices.Sort(queues)
	return slices.Compact(queues), nil
}
