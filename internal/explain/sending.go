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
	"herald/internal/postgres/report"
	"herald/workflows"
)

// Sending is Temporal's view of a workflow that sends: a delivery or a digest.
type Sending struct {
	WorkflowView
	TaskQueue   string            `json:"task_queue,omitempty"`      // before it has started: the queue of its event's workflow
	Workers     int               `json:"workers"`                   // that serve the task queue
	ServedBy    launch.Workers    `json:"served_by,omitempty"`       // also workers that did until a few minutes ago
	Details     string            `json:"current_details,omitempty"` // what a running workflow says it waits for
	Pending     []PendingActivity `json:"pending_activities,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`    // of its run; 0: not known
	Before      int               `json:"attempts_before,omitempty"` // of earlier runs
	WaitsUntil  *time.Time        `json:"waits_until,omitempty"`     // of a running workflow's timer
	DigestID    string            `json:"digest_workflow_id,omitempty"`
	Digest      *Sending          `json:"digest_workflow,omitempty"` // the digest that it waits for
	BatchID     string            `json:"batch_workflow_id,omitempty"`
	Batch       *Sending          `json:"batch_workflow,omitempty"` // the batch that sends it; it then has no separate workflow

	task             *workflowpb.PendingWorkflowTaskInfo // nil: there is none
	first            bool                                // its first attempt is a local activity, and not known to have ended
	beganWithAttempt bool                                // it waits for nothing before its first attempt, which a local activity or a batch made
}

// PendingActivity is a step that a workflow has not ended yet.
type PendingActivity struct {
	Activity    string     `json:"activity"`
	State       string     `json:"state"`   // SCHEDULED, STARTED, CANCELREQUESTED, PAUSED
	Attempt     int32      `json:"attempt"` // by Temporal's count
	StartedAt   *time.Time `json:"started_at,omitempty"`
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`
	LastFailure string     `json:"last_failure,omitempty"`
	FailureType string     `json:"last_failure_type,omitempty"` // DatabaseFailed, …
}

// States of a pending activity.
const (
	Started = "STARTED"
	Paused  = "PAUSED"
)

// PendingSend is the attempt that is under way or due; nil where there is none.
func (s Sending) PendingSend() *PendingActivity {
	i := slices.IndexFunc(s.Pending, func(p PendingActivity) bool { return sends(p.Activity) })
	if i < 0 {
		return nil
	}
	return &s.Pending[i]
}

// nextSend returns the next attempt if the workflow itself waits for it: it began with an
// attempt, and tried reports that one was recorded. Nil: it does not.
func (s Sending) nextSend(tried bool) *PendingActivity {
	if s.WaitsUntil == nil || !s.beganWithAttempt || !tried {
		return nil
	}
	return &PendingActivity{Activity: registeredName(acts.Send), State: "SCHEDULED", NextAttempt: s.WaitsUntil}
}

// UnderWay says that an attempt is being made.
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

// DeliveryWorkflow reads what Temporal knows of the workflow of a delivery, and of
// the digest that it waits for; before it has started, who serves the workflow of its
// event, which starts it. It never fails: it leaves out what could not be read, or says
// so in the note.
func (e Explainer) DeliveryWorkflow(ctx context.Context, d report.DeliveryDetail) Sending {
	sending := e.sending(ctx, d.DeliveryID)
	if sending.Status != Running && d.Status == notification.Pending {
		e.readBatch(ctx, d, &sending)
	}
	if sending.Status == Unknown && d.Status == notification.Cancelled && d.Attempts == 0 {
		sending.Note = "it has none: it was cancelled before one began, with its event or with the batch that was to send it"
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

// readBatch reads the batch that sends a delivery, if one does.
func (e Explainer) readBatch(ctx context.Context, d report.DeliveryDetail, s *Sending) {
	if e.Temporal == nil {
		return
	}
	batch, err := launch.BatchOf(ctx, e.Temporal, d.EventID, d.Channel, d.ID)
	if err != nil || batch.ID == "" {
		return
	}
	sending := e.sending(ctx, batch.ID)
	e.readWorkers(ctx, batch.Queue, &sending)
	s.Note, s.BatchID, s.Batch = "it has no separate workflow: a batch sends it, with others of its event", batch.ID, &sending
}

// readStarter reads who serves the workflow of an event that runs.
func (e Explainer) readStarter(ctx context.Context, eventID string, s *Sending) {
	description, event := e.execution(ctx, eventID, nil)
	if event.Status != Running {
		return
	}
	s.Note = "it was not started yet: the workflow of its event, which runs, starts it"
	e.readWorkers(ctx, description.GetExecutionConfig().GetTaskQueue().GetName(), s)
}

// readWorkers reads who serves a task queue; nobody does where Temporal does not say.
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
	s.task = description.GetPendingWorkflowTask()
	e.readWorkers(ctx, s.TaskQueue, &s)
	e.readHistory(ctx, id, &s)
	s.noteFirst()
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

// maxHistory bounds the events of a history that are read. A delivery has about
// ten; a digest continues in another run before it has so many.
const maxHistory = 5000

// acts is never dereferenced: it only names the activities.
var acts *activities.Activities

// sends says that an activity calls a provider. Its input says how often it may try.
func sends(activity string) bool {
	return slices.Contains([]string{registeredName(acts.Send), registeredName(acts.SendFirst), registeredName(acts.SendDigest), registeredName(acts.SendBatch)}, activity)
}

// registeredName is the name under which the SDK registers a workflow or an
// activity: the name of its function or method.
func registeredName(f any) string {
	full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return strings.TrimSuffix(full[strings.LastIndex(full, ".")+1:], "-fm") // the runtime marks a method's value so
}

// readHistory finds how often the latest sending may try, and in which digest the
// delivery is.
func (e Explainer) readHistory(ctx context.Context, id string, into *Sending) {
	var joining int64 // the event that scheduled the latest JoinDigest
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
				into.MaxAttempts, into.Before = input.MaxAttempts, input.AttemptsBefore
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

// noteTimer keeps the time of the timer that a workflow waits for.
func (s *Sending) noteTimer(event *historypb.HistoryEvent) {
	switch event.GetEventType() {
	case enums.EVENT_TYPE_TIMER_STARTED:
		at := event.GetEventTime().AsTime().Add(event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
		s.WaitsUntil = &at
	case enums.EVENT_TYPE_TIMER_FIRED, enums.EVENT_TYPE_TIMER_CANCELED:
		s.WaitsUntil = nil
	}
}

// noteStart keeps what a delivery's workflow was started with.
func (s *Sending) noteStart(event *historypb.HistoryEvent) {
	var in workflows.DeliverInput
	switch started := event.GetWorkflowExecutionStartedEventAttributes(); {
	case started != nil && decodeFirst(started.GetInput(), &in) && in.DeliveryID != "":
		s.MaxAttempts, s.first = in.Policy.MaxAttempts, in.StartsLocally()
		s.beganWithAttempt = s.first || !in.Next.IsZero()
	case event.GetEventType() == enums.EVENT_TYPE_MARKER_RECORDED:
		s.first = false // the SDK records it with the attempt's end
	}
}

// noteFirst adds a first attempt that is a local activity: the task of a workflow that has
// done nothing else yet is under way as long as it.
func (s *Sending) noteFirst() {
	if s.first && len(s.Pending) == 0 && s.task.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_STARTED {
		s.Pending = []PendingActivity{{Activity: registeredName(acts.SendFirst), State: Started, Attempt: 1, StartedAt: launch.Time(s.task.GetStartedTime())}}
	}
}

func decodeFirst(payloads *commonpb.Payloads, into any) bool {
	list := payloads.GetPayloads()
	return len(list) > 0 && converter.GetDefaultDataConverter().FromPayload(list[0], into) == nil
}

const (
	// detailsTimeout bounds the question to a worker that may be busy.
	detailsTimeout = 3 * time.Second
	// metadataQuery is answered by the SDK's workers for every workflow.
	metadataQuery = "__temporal_workflow_metadata"
)

// currentDetails asks the workflow what it waits for; "" where it does not answer.
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
