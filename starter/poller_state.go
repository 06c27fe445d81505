package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// describer is Temporal's client, as much of it as looking at pollers takes.
type describer interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	DescribeTaskQueue(ctx context.Context, taskqueue string, taskqueueType enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error)
}

// pollersState is the pollers, and how many workers could serve them.
type pollersState struct {
	TaskQueue string        `json:"task_queue"`
	Workers   int           `json:"workers"`
	Pollers   []pollerState `json:"pollers"`
	Others    []string      `json:"other_installations,omitempty"` // by `starter status`: their task queues
}

func (s pollersState) ids() []string {
	ids := []string{}
	for _, p := range s.Pollers {
		ids = append(ids, p.ID)
	}
	return ids
}

// pollerState is one poller's workflow and its activity.
type pollerState struct {
	ID            string     `json:"id"`
	Status        string     `json:"status"`         // RUNNING, PAUSING, PAUSED, NOT STARTED, or how it ended
	Since         *time.Time `json:"since"`          // when it was paused, or else its present run began
	LastHeartbeat *time.Time `json:"last_heartbeat"` // of its activity
	Attempt       int32      `json:"attempt"`        // of its activity: more than 1 after a failure
	LastFailure   string     `json:"last_failure"`   // of that activity
}

const (
	runningStatus    = "RUNNING"
	pausingStatus    = "PAUSING" // told to pause; what was claimed is brought to its end
	pausedStatus     = "PAUSED"
	notStartedStatus = "NOT STARTED"
)

// running says that it has not ended; it may be paused.
func (p pollerState) running() bool {
	return p.Status == runningStatus || p.Status == pausingStatus || p.Status == pausedStatus
}

// readPollers looks at the first expected pollers, and at all others that run.
func readPollers(ctx context.Context, temporal describer, prefix string, expected int) (pollersState, error) {
	state := pollersState{TaskQueue: workflows.EventsQueue(prefix), Pollers: []pollerState{}}
	for n := 1; n <= maxPollers; n++ {
		poller, err := readPoller(ctx, temporal, workflows.PollerID(prefix, notification.HeraldSource, n))
		if err != nil {
			return pollersState{}, err
		}
		if n <= expected || poller.running() {
			state.Pollers = append(state.Pollers, poller)
		}
	}
	var err error
	if state.Workers, err = launch.Workers(ctx, temporal, state.TaskQueue); err != nil {
		return pollersState{}, err
	}
	return state, nil
}

func readPoller(ctx context.Context, temporal describer, id string) (pollerState, error) {
	poller := pollerState{ID: id, Status: notStartedStatus}
	description, err := temporal.DescribeWorkflowExecution(ctx, id, "")
	if isNotFound(err) {
		return poller, nil
	}
	if err != nil {
		return pollerState{}, fmt.Errorf("describe %s: %w", id, err)
	}
	info := description.GetWorkflowExecutionInfo()
	poller.Status = statusName(info.GetStatus())
	poller.Since = moment(info.GetStartTime())
	if since, paused := pausedSince(info.GetMemo()); paused && poller.Status == runningStatus {
		poller.Status, poller.Since = pausedStatus, since
	}
	for _, activity := range description.GetPendingActivities() {
		if poller.Status == pausedStatus || pausing(description, activity) {
			poller.Status = pausingStatus
		}
		poller.LastHeartbeat = moment(activity.GetLastHeartbeatTime())
		poller.Attempt = activity.GetAttempt()
		poller.LastFailure = activity.GetLastFailure().GetMessage()
	}
	return poller, nil
}

// pausing says that a poller was told to pause, and has not ended its activity. One
// that was told to stop has an activity that looks the same.
func pausing(poller *workflowservice.DescribeWorkflowExecutionResponse, activity *workflowpb.PendingActivityInfo) bool {
	return poller.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING &&
		activity.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED && !poller.GetWorkflowExtendedInfo().GetCancelRequested()
}

// pausedSince reads the memo of a paused poller.
func pausedSince(memo *commonpb.Memo) (*time.Time, bool) {
	payload, paused := memo.GetFields()[workflows.PausedMemo]
	if !paused {
		return nil, false
	}
	var since time.Time
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &since); err != nil {
		return nil, true // paused, by a build that says it in another way
	}
	return &since, true
}

// statusName is RUNNING, COMPLETED, FAILED, CANCELED, TERMINATED, TIMEDOUT.
func statusName(status enums.WorkflowExecutionStatus) string { return strings.ToUpper(status.String()) }

func isNotFound(err error) bool {
	var notFound *serviceerror.NotFound
	return errors.As(err, &notFound)
}

// moment is nil where Temporal has no time.
func moment(t *timestamppb.Timestamp) *time.Time {
	if t == nil || t.AsTime().IsZero() {
		return nil
	}
	at := t.AsTime()
	return &at
}
