package explain

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/workflows"
)

// Sending is Temporal's view of the workflow of a delivery, a digest or a batch.
type Sending struct {
	WorkflowView
	TaskQueue   string            `json:"task_queue,omitempty"`      // before it starts: the queue of its event's workflow
	Workers     int               `json:"workers"`                   // running workers of the task queue
	ServedBy    launch.Workers    `json:"served_by,omitempty"`       // also workers that stopped a few minutes ago
	Details     string            `json:"current_details,omitempty"` // what a running workflow waits for, in its words
	Pending     []PendingActivity `json:"pending_activities,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`    // of its run; 0: unknown
	Outage      time.Duration     `json:"-"`                         // during which an outage uses up no attempts
	Before      int               `json:"attempts_before,omitempty"` // of earlier runs
	WaitsUntil  *time.Time        `json:"waits_until,omitempty"`     // the end of a running workflow's timer
	DigestID    string            `json:"digest_workflow_id,omitempty"`
	Digest      *Sending          `json:"digest_workflow,omitempty"` // the digest that it joined
	BatchID     string            `json:"batch_workflow_id,omitempty"`
	Batch       *Sending          `json:"batch_workflow,omitempty"` // the batch that sends it; such a delivery has no workflow

	first            bool // its first attempt is a local activity, and may not have ended
	beganWithAttempt bool // it did not wait before its first attempt, which a local activity or a batch made
}

// PendingActivity is an activity of a workflow that has not ended.
type PendingActivity struct {
	Activity    string     `json:"activity"`
	State       string     `json:"state"`   // SCHEDULED, STARTED, CANCELREQUESTED, PAUSED
	Attempt     int32      `json:"attempt"` // as Temporal counts them
	StartedAt   *time.Time `json:"started_at,omitempty"`
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`
	LastFailure string     `json:"last_failure,omitempty"`
	FailureType string     `json:"last_failure_type,omitempty"` // for example DatabaseFailed
}

// States of a pending activity.
const (
	Started = "STARTED"
	Paused  = "PAUSED"
)

// PendingSend returns the attempt that is under way or due; nil: there is none.
func (s Sending) PendingSend() *PendingActivity {
	i := slices.IndexFunc(s.Pending, func(p PendingActivity) bool { return sends(p.Activity) })
	if i < 0 {
		return nil
	}
	return &s.Pending[i]
}

// nextSend returns the next attempt if the workflow itself waits for it; nil: it does not, or its details name
// another reason, such as a paused sender. The workflow does so if it began with an attempt. tried reports that
// an attempt is recorded.
func (s Sending) nextSend(tried bool) *PendingActivity {
	if s.WaitsUntil == nil || !s.beganWithAttempt || !tried || s.Details != "" && !strings.HasSuffix(s.Details, notification.WaitRetry) {
		return nil
	}
	return &PendingActivity{Activity: registeredName(acts.Send), State: "SCHEDULED", NextAttempt: s.WaitsUntil}
}

// UnderWay reports whether an attempt is under way.
func (s Sending) UnderWay() bool {
	switch {
	case s.Digest != nil:
		return s.Digest.UnderWay()
	case s.Batch != nil:
		return s.Batch.UnderWay()
	}
	p := s.PendingSend()
	return p != nil && p.State == Started
}

// DeliveryWorkflow reads the workflow of a delivery from Temporal, and the digest that it waits
// for. If the workflow has not started, it reads the workers of the event's workflow, which starts
// it. It never fails: it leaves out what it cannot read, or explains this in the note.
func (e Explainer) DeliveryWorkflow(ctx context.Context, d report.DeliveryDetail) Sending {
	sending := e.sending(ctx, d.DeliveryID)
	if sending.Status != Running && sending.Status != Unreachable && d.Status == notification.Pending {
		e.readBatch(ctx, d, &sending)
	}
	if sending.Status == Unknown && d.Status == notification.Cancelled && d.Attempts == 0 {
		sending.Note = "it has none: its event or its batch was cancelled before one began"
	}
	if sending.Status == Unknown && sending.Batch == nil && d.Status == notification.Pending {
		e.readStarter(ctx, d.EventID, &sending)
	}
	if sending.Status == Running && sending.DigestID != "" {
		digest := e.sending(ctx, sending.DigestID)
		sending.Digest = &digest
	}
	return sending
}

// readBatch reads the batch that sends a delivery, if there is one.
func (e Explainer) readBatch(ctx context.Context, d report.DeliveryDetail, s *Sending) {
	batch, err := launch.BatchOf(ctx, e.Temporal, d.EventID, d.Channel, int64(d.ID))
	if err != nil || batch.ID == "" {
		return
	}
	sending := e.sending(ctx, batch.ID)
	e.readWorkers(ctx, batch.Queue, &sending)
	s.Note, s.BatchID, s.Batch = "it has no separate workflow: a batch sends it together with other deliveries of its event", batch.ID,
		&sending
}

// readStarter reads the workers of an event's workflow, if the workflow runs.
func (e Explainer) readStarter(ctx context.Context, eventID string, s *Sending) {
	description, event := e.execution(ctx, eventID, nil)
	if event.Status != Running {
		return
	}
	s.Note = "it was not started yet: the running workflow of its event starts it"
	e.readWorkers(ctx, description.GetExecutionConfig().GetTaskQueue().GetName(), s)
}

// readWorkers reads the workers of a task queue. If Temporal does not answer, there are none.
func (e Explainer) readWorkers(ctx context.Context, queue string, s *Sending) {
	s.TaskQueue = queue
	s.ServedBy, _ = launch.WorkersOf(ctx, e.Temporal, e.Namespace, queue)
	s.Workers = s.ServedBy.Running()
}

func (e Explainer) sending(ctx context.Context, id string) Sending {
	description, execution := e.execution(ctx, id, nil)
	s := Sending{WorkflowView: execution, TaskQueue: description.GetExecutionConfig().GetTaskQueue().GetName()}
	if s.Status != Running {
		return s
	}
	s.Pending = pendingOf(description.GetPendingActivities())
	e.readWorkers(ctx, s.TaskQueue, &s)
	e.readHistory(ctx, id, &s)
	s.noteFirst(description.GetPendingWorkflowTask())
	if s.Workers > 0 {
		s.Details = e.currentDetails(ctx, id, s.RunID)
	}
	return s
}

func pendingOf(described []*workflowpb.PendingActivityInfo) (pending []PendingActivity) {
	for _, activity := range described {
		pending = append(pending, PendingActivity{
			Activity:    activity.GetActivityType().GetName(),
			State:       strings.ToUpper(activity.GetState().String()),
			Attempt:     activity.GetAttempt(),
			StartedAt:   launch.Time(activity.GetLastStartedTime()),
			NextAttempt: launch.Time(activity.GetNextAttemptScheduleTime()),
			LastFailure: activity.GetLastFailure().GetMessage(),
			FailureType: activity.GetLastFailure().GetApplicationFailureInfo().GetType(),
		})
	}
	return pending
}

// maxHistory is the highest number of events that are read from a history. A delivery has about
// ten. A digest continues as a new run before it has so many.
const maxHistory = 5000

// acts is nil and never dereferenced: it only provides the activities' names.
var acts *activities.Activities

// sends reports whether an activity calls a provider. Its input holds the number of attempts.
func sends(activity string) bool {
	return slices.Contains([]string{
		registeredName(acts.Send), registeredName(acts.SendFirst), registeredName(acts.SendDigest), registeredName(acts.SendBatch),
	}, activity)
}

// registeredName returns the name under which the SDK registers a workflow or an activity: the name
// of the function or method.
func registeredName(f any) string {
	full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return strings.TrimSuffix(full[strings.LastIndex(full, ".")+1:], "-fm") // the runtime adds this suffix to a method value
}

// readHistory reads the attempts that the latest sending activity may make, and the digest of the
// delivery.
func (e Explainer) readHistory(ctx context.Context, id string, into *Sending) {
	var joining int64 // id of the event that scheduled the latest JoinDigest
	history := e.Temporal.GetWorkflowHistory(ctx, id, into.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for n := 0; n < maxHistory && history.HasNext(); n++ {
		event, err := history.Next()
		if err != nil {
			return
		}
		into.noteTimer(event)
		into.noteStart(event)
		scheduled, completed := event.GetActivityTaskScheduledEventAttributes(), event.GetActivityTaskCompletedEventAttributes()
		switch name := scheduled.GetActivityType().GetName(); {
		case sends(name):
			var input activities.SendInput
			if decodeFirst(scheduled.GetInput(), &input) {
				into.MaxAttempts, into.Outage, into.Before = input.MaxAttempts, input.Outage, input.AttemptsBefore
			}
		case name == registeredName(acts.JoinDigest):
			joining = event.GetEventId()
		case joining > 0 && completed.GetScheduledEventId() == joining:
			var joined activities.JoinResult
			if decodeFirst(completed.GetResult(), &joined) {
				into.DigestID = joined.DigestID
			}
		}
	}
}

// noteTimer stores the end of the timer that a workflow waits for.
func (s *Sending) noteTimer(event *historypb.HistoryEvent) {
	switch event.GetEventType() {
	case enums.EVENT_TYPE_TIMER_STARTED:
		at := event.GetEventTime().AsTime().Add(event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
		s.WaitsUntil = &at
	case enums.EVENT_TYPE_TIMER_FIRED, enums.EVENT_TYPE_TIMER_CANCELED:
		s.WaitsUntil = nil
	}
}

// noteStart stores facts from the input of a delivery's workflow.
func (s *Sending) noteStart(event *historypb.HistoryEvent) {
	var in workflows.DeliverInput
	switch started := event.GetWorkflowExecutionStartedEventAttributes(); {
	case started != nil && decodeFirst(started.GetInput(), &in) && in.DeliveryID != "":
		s.MaxAttempts, s.Outage, s.first = in.Policy.MaxAttempts, in.Policy.Outage, in.Policy.Local
		s.beganWithAttempt = !in.Retry
	case event.GetEventType() == enums.EVENT_TYPE_MARKER_RECORDED:
		s.first = false // the SDK records a marker when the local activity ends
	}
}

// noteFirst adds a first attempt that is a local activity. Temporal does not list it, but it runs
// while the workflow's first task is under way.
func (s *Sending) noteFirst(task *workflowpb.PendingWorkflowTaskInfo) {
	if s.first && len(s.Pending) == 0 && task.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_STARTED {
		s.Pending = []PendingActivity{{
			Activity: registeredName(acts.SendFirst), State: Started, Attempt: 1, StartedAt: launch.Time(task.GetStartedTime()),
		}}
	}
}

func decodeFirst(payloads *commonpb.Payloads, into any) bool {
	list := payloads.GetPayloads()
	return len(list) > 0 && converter.GetDefaultDataConverter().FromPayload(list[0], into) == nil
}

const (
	// detailsTimeout bounds the query, because a worker may be busy.
	detailsTimeout = 3 * time.Second
	// metadataQuery is a query that the SDK answers for every workflow.
	metadataQuery = "__temporal_workflow_metadata"
)

// currentDetails asks a workflow what it waits for; empty: it does not answer.
func (e Explainer) currentDetails(ctx context.Context, id, runID string) string {
	ctx, cancel := context.WithTimeout(ctx, detailsTimeout)
	defer cancel()
	value, err := e.Temporal.QueryWorkflow(ctx, id, runID, metadataQuery)
	if err != nil {
		return ""
	}
	var metadata sdkpb.WorkflowMetadata
	if value.Get(&metadata) != nil {
		return ""
	}
	return metadata.GetCurrentDetails()
}
