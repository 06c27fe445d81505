package main

import (
	"context"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// deliveryState is what Temporal knows of a delivery.
type deliveryState struct {
	workflowState
	TaskQueue   string            `json:"task_queue,omitempty"`
	Workers     int               `json:"workers"`                   // who serve the task queue; of a running workflow
	Details     string            `json:"current_details,omitempty"` // what a running one says that it waits for
	Pending     []pendingActivity `json:"pending_activities,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`    // of its run; 0: not known
	Before      int               `json:"attempts_before,omitempty"` // of earlier runs
	DigestID    string            `json:"digest_workflow_id,omitempty"`
	Digest      *deliveryState    `json:"digest_workflow,omitempty"` // what it waits for, where it is an item of one
}

// pendingActivity is a step that a workflow has not ended yet.
type pendingActivity struct {
	Activity    string     `json:"activity"`
	State       string     `json:"state"`   // SCHEDULED, STARTED, CANCELREQUESTED, PAUSED
	Attempt     int32      `json:"attempt"` // by Temporal's count
	StartedAt   *time.Time `json:"started_at,omitempty"`
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`
	LastFailure string     `json:"last_failure,omitempty"`
}

// deliveryTemporal is Temporal's client, as much of it as looking at a delivery takes.
type deliveryTemporal interface {
	describer
	GetWorkflow(ctx context.Context, workflowID, runID string) client.WorkflowRun
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
	GetWorkflowHistory(ctx context.Context, workflowID, runID string, longPoll bool, filter enums.HistoryEventFilterType) client.HistoryEventIterator
}

// deliveryWorkflow never fails: a delivery can be looked at without Temporal.
func (a *app) deliveryWorkflow(ctx context.Context, id string) deliveryState {
	temporal, err := a.temporal(ctx)
	if err != nil {
		return deliveryState{workflowState: workflowState{Status: unreachableStatus, Note: err.Error()}}
	}
	defer temporal.Close()
	return readDelivery(ctx, temporal, id)
}

// readDelivery looks at the workflow of a delivery, and at the digest that it
// waits for. What it cannot find out it leaves out, or says in the note.
func readDelivery(ctx context.Context, temporal deliveryTemporal, id string) deliveryState {
	state := readSending(ctx, temporal, id)
	if state.Status == runningStatus && state.DigestID != "" {
		digest := readSending(ctx, temporal, state.DigestID)
		state.Digest = &digest
	}
	return state
}

// readSending looks at a workflow that sends: a delivery or a digest.
func readSending(ctx context.Context, temporal deliveryTemporal, id string) deliveryState {
	description, found := lookAt(ctx, temporal, id)
	state := deliveryState{workflowState: found, TaskQueue: description.GetExecutionConfig().GetTaskQueue().GetName()}
	if !state.known() {
		return state
	}
	if state.Status != runningStatus {
		if err := temporal.GetWorkflow(ctx, id, state.RunID).Get(ctx, nil); err != nil {
			state.Failure = cause(err)
		}
		return state
	}
	for _, activity := range description.GetPendingActivities() {
		state.Pending = append(state.Pending, pendingOf(activity))
	}
	state.Workers, _ = workersOf(ctx, temporal, state.TaskQueue) // 0 also where Temporal does not say
	state.readHistory(ctx, temporal, id)
	if state.Workers > 0 {
		state.Details = currentDetails(ctx, temporal, id, state.RunID)
	}
	return state
}

func pendingOf(activity *workflowpb.PendingActivityInfo) pendingActivity {
	return pendingActivity{
		Activity:    activity.GetActivityType().GetName(),
		State:       strings.ToUpper(activity.GetState().String()),
		Attempt:     activity.GetAttempt(),
		StartedAt:   moment(activity.GetLastStartedTime()),
		NextAttempt: moment(activity.GetNextAttemptScheduleTime()),
		LastFailure: activity.GetLastFailure().GetMessage(),
	}
}

const (
	// detailsTimeout bounds the question to a worker that may be busy.
	detailsTimeout = 3 * time.Second
	// metadataQuery is what the SDK's workers answer for every workflow.
	metadataQuery = "__temporal_workflow_metadata"
)

// currentDetails asks the workflow what it waits for; "" where it does not answer.
func currentDetails(ctx context.Context, temporal deliveryTemporal, id, runID string) string {
	ctx, cancel := context.WithTimeout(ctx, detailsTimeout)
	defer cancel()
	value, err := temporal.QueryWorkflow(ctx, id, runID, metadataQuery)
	if err != nil {
		return ""
	}
	var metadata sdkpb.WorkflowMetadata
	if value.Get(&metadata) != nil {
		return ""
	}
	return metadata.GetCurrentDetails()
}

// pendingSend is the attempt that is under way or due; nil where there is none.
func (s deliveryState) pendingSend() *pendingActivity {
	i := slices.IndexFunc(s.Pending, func(p pendingActivity) bool { return sends(p.Activity) })
	if i < 0 {
		return nil
	}
	return &s.Pending[i]
}

// sending says that an attempt is under way.
func (s deliveryState) sending() bool {
	if s.Digest != nil {
		return s.Digest.sending()
	}
	p := s.pendingSend()
	return p != nil && p.State == startedState
}

// States of a pending activity.
const (
	startedState = "STARTED"
	pausedState  = "PAUSED"
)
