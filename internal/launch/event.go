package launch

import (
	"context"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/tracing"
	"herald/workflows"
)

// StartEvent starts the workflow of an event. A running workflow, or a completed workflow that
// Temporal remembers, counts as started. A failed workflow is started again: either an operator put
// the event back, or the workflow failed before its claim ended. If another workflow has the id,
// the error is a [notification.IDTakenError].
//
// With eager, a worker of this client gets the first task with the answer, which saves Temporal a write
// and the way through a queue. Temporal then does not ask which generation is current, so the caller does.
func (l *Launcher) StartEvent(ctx context.Context, event notification.PendingEvent, eager bool) error {
	return l.startEvent(ctx, event, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY, eager)
}

// StartsEagerly reports whether this process' generation gets the tasks of all new workflows. Then Temporal
// would give it the first task of a new event, too.
func (l *Launcher) StartsEagerly(ctx context.Context) bool {
	all, err := l.Generations(ctx)
	return err == nil && all.Current == workflows.CommandVersion && all.Ramping == 0
}

// StartEventAgain starts an event's workflow, after any end of an earlier run. The new run does not
// plan or send again what the earlier run planned and sent.
func (l *Launcher) StartEventAgain(ctx context.Context, event notification.PendingEvent) error {
	return l.startEvent(ctx, event, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, false)
}

func (l *Launcher) startEvent(
	ctx context.Context, event notification.PendingEvent, reuse enums.WorkflowIdReusePolicy, eager bool,
) error {
	if err := l.CheckSource(event.Source); err != nil {
		return err
	}
	in := workflows.NotifyInput{EventID: event.ID, Source: event.Source, Publish: l.PublishEvents && !event.Published, Cancels: event.Cancels,
		Again: event.Again}
	options := client.StartWorkflowOptions{
		ID:                                       event.ID,
		TaskQueue:                                workflows.EventsQueue(l.Prefix),
		WorkflowIDReusePolicy:                    reuse,
		TypedSearchAttributes:                    searchAttributes(event),
		StaticSummary:                            summary(event),
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         eager,
	}
	if event.CorrelationID != "" {
		options.Memo = map[string]any{"correlation_id": event.CorrelationID}
	}
	_, err := l.Client.ExecuteWorkflow(tracing.WithParent(ctx, event.Traceparent), options, workflows.NotifyEvent, in)
	return l.unlessStarted(ctx, err, options, workflows.NotifyEventType)
}

// CancelEvent asks the workflow of an event to end, if it runs and belongs to this installation. It
// ignores any other workflow that has the id.
func (l *Launcher) CancelEvent(ctx context.Context, eventID, reason string) error {
	found, err := l.EventWorkflow(ctx, eventID)
	if err != nil || found.State != activities.WorkflowRunning {
		return err
	}
	return l.Cancel(ctx, eventID, reason)
}

// Cancel asks a workflow to end. Temporal stores the reason in the workflow's history, in clear text.
// Cancel returns no error if the workflow has already ended.
func (l *Launcher) Cancel(ctx context.Context, workflowID, reason string) error {
	err := l.Client.CancelWorkflowWithOptions(ctx, client.CancelWorkflowOptions{WorkflowID: workflowID, Reason: reason})
	return unlessGone(err, "cancel "+workflowID)
}

// EventWorkflow describes the last run of an event's workflow.
func (l *Launcher) EventWorkflow(ctx context.Context, eventID string) (activities.Execution, error) {
	return l.execution(ctx, eventID, workflows.NotifyEventType, workflows.EventsQueue(l.Prefix))
}

// listTimeout limits the read of one page of workflows.
const listTimeout = 10 * time.Second

// EachStartedEvent calls see with the ids of events whose workflow started since a time, page by page. It
// reads Temporal's visibility store, which lags a little. An event that ran several times may come
// several times.
func (l *Launcher) EachStartedEvent(ctx context.Context, since time.Time, see func(ids []string) error) error {
	list := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500, Query: fmt.Sprintf(
		"WorkflowType = '%s' AND TaskQueue = '%s' AND StartTime >= '%s'",
		workflows.NotifyEventType, workflows.EventsQueue(l.Prefix), since.UTC().Format(time.RFC3339))}
	for {
		page, err := listPage(ctx, l.Client, list)
		if err != nil {
			return fmt.Errorf("list the workflows of events: %w", err)
		}
		var ids []string
		for _, execution := range page.GetExecutions() {
			ids = append(ids, execution.GetExecution().GetWorkflowId())
		}
		if err := see(ids); err != nil {
			return err
		}
		if list.NextPageToken = page.GetNextPageToken(); len(list.NextPageToken) == 0 {
			return nil
		}
	}
}

func listPage(
	ctx context.Context, temporal client.Client, list *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return temporal.ListWorkflow(ctx, list)
}

// CheckSource returns the reason why this process cannot start events of a source.
func (l *Launcher) CheckSource(name string) error {
	source, known := l.Sources[name]
	switch {
	case name == notification.HeraldSource:
		return nil
	case !known:
		return fmt.Errorf("OUTBOX_SOURCES has no source named %q here: set the same sources for every process", name)
	case !source.People:
		return fmt.Errorf("the source %q tells no people: set `people: true` in OUTBOX_SOURCES if it should", name)
	default:
		return nil
	}
}

const (
	// maxKeyword is the maximum length of a keyword that Temporal stores on Postgres, in bytes.
	maxKeyword = 255
	// maxSummary is the maximum length of a summary in bytes, well below Temporal's limit of 400.
	maxSummary = 300
)

// searchAttributes leaves out an aggregate that is missing or too long. Herald does not limit the
// aggregates in other outboxes.
func searchAttributes(event notification.PendingEvent) temporal.SearchAttributes {
	attributes := []temporal.SearchAttributeUpdate{workflows.EventTypeAttribute.ValueSet(event.Type)}
	if aggregate := aggregateOf(event); aggregate != "" && len(aggregate) <= maxKeyword {
		attributes = append(attributes, workflows.AggregateAttribute.ValueSet(aggregate))
	}
	return temporal.NewSearchAttributes(attributes...)
}

// summary returns the text next to the id in the Web UI.
func summary(event notification.PendingEvent) string {
	text := event.Type
	if aggregate := aggregateOf(event); aggregate != "" {
		text += " of " + aggregate
	}
	if len(text) > maxSummary {
		text = strings.ToValidUTF8(text[:maxSummary], "")
	}
	return text
}

// aggregateOf returns an aggregate such as RESTAURANT/5; empty: the event has none.
func aggregateOf(event notification.PendingEvent) string {
	if event.AggregateType == "" || event.AggregateID == "" {
		return ""
	}
	return notification.Entity{Type: event.AggregateType, ID: event.AggregateID}.String()
}
