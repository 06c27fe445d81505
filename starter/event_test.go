package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
	"herald/workflows"
)

func TestShowEventWithoutTemporal(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.must(t, "emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", "{}", "--event-id", "evt-1")

	var view eventView
	require.NoError(t, json.Unmarshal([]byte(c.must(t, "event", "show", "evt-1", "-o", "json")), &view))
	require.Equal(t, "PENDING", view.Outbox.Status)
	require.Nil(t, view.Processed)
	require.Equal(t, unreachableStatus, view.Workflow.Status)
	require.Contains(t, view.Workflow.Note, "Temporal is out of reach")

	out := c.must(t, "event", "show", "evt-1")
	require.Contains(t, out, "PENDING, claims: 0")
	require.Contains(t, out, "none: its workflow was not started yet")
	require.Contains(t, out, unreachableStatus)
}

func TestShowNoEvent(t *testing.T) {
	t.Parallel()

	got := withDatabase(t).run(t, "event", "show", "evt-1")

	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "error: event evt-1: no such event")
	require.Contains(t, got.err, "next: check the id")
}

func TestPrintEvent(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	view := eventView{
		EventDetail: report.EventDetail{
			EventID:   "evt-1",
			Outbox:    &report.LeasedRow{OutboxRow: report.OutboxRow{EventType: "T", AggregateType: "RESTAURANT", AggregateID: "5", Status: "PROCESSED", CreatedAt: at, AttemptCount: 2}},
			Processed: &report.ProcessedRow{Status: "PROCESSING", UpdatedAt: at},
			Recipients: []report.RecipientDetail{{
				UserType: notification.RestaurantUser, UserID: "10",
				Decisions: map[notification.Channel]notification.Decision{
					notification.Push: notification.DecisionSelected, notification.Email: notification.DecisionQuietHours,
				},
				Deliveries: map[notification.Channel]report.RecipientDelivery{
					notification.Push: {Status: notification.Pending, SendAfter: &at, Attempts: 1, LastError: "fcm is busy: 429"},
				},
			}},
			More: 7,
		},
		Workflow: workflowState{Status: "RUNNING", RunID: "run-1"},
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	printEvent(w, view)
	require.NoError(t, w.Flush())

	require.Equal(t, `event            evt-1
type             T
aggregate        RESTAURANT/5
correlation id   -
outbox           PROCESSED, claims: 2
created          2026-11-21 08:00:00.000Z
published        -
processed_event  PROCESSING, since 2026-11-21 08:00:00.000Z
workflow         RUNNING
run id           run-1

RECIPIENT           CHANNEL  DECISION     STATUS   ATTEMPTS  SEND AFTER                LAST ERROR
RESTAURANT_USER/10  EMAIL    QUIET_HOURS  -        -         -                         -
RESTAURANT_USER/10  PUSH     SELECTED     PENDING  1         2026-11-21 08:00:00.000Z  fcm is busy: 429
… and 7 more recipients
`, out.String())
}

func TestShowOutcome(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status, outcome, want string
		sweep                 bool
	}{
		{"PROCESSING", "", "PROCESSING, since", false},
		{"SUCCESS", "", "SUCCESS, since", false},
		{"SUCCESS", "NO_ROUTING", "SUCCESS (NO_ROUTING), since", false},
		{"SUCCESS", "INCOMPLETE", "SUCCESS (INCOMPLETE), since", true},
		{"FAILED", "CANCELLED", "FAILED (CANCELLED), since", false},
		{"FAILED", "FAILED", "FAILED, since", false},
	} {
		var out bytes.Buffer
		printEvent(&out, eventView{EventDetail: report.EventDetail{EventID: "e", Processed: &report.ProcessedRow{Status: tt.status, Outcome: tt.outcome, UpdatedAt: at}}})
		require.Contains(t, out.String(), "processed_event\t"+tt.want)
		require.Equal(t, tt.sweep, strings.Contains(out.String(), "next\tthe sweep starts what is PENDING again within 10 minutes, see `starter status`"), out.String())
	}
}

// The outcome is the database's word, so that it is there without Temporal.
func TestOutcomeInJSON(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.must(t, "emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", "{}", "--event-id", "evt-1")
	db, err := postgres.Open(t.Context(), c.environment["DATABASE_URL"], "herald-test")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.FinishEvent(t.Context(), "evt-1", true, "NO_RECIPIENTS")
	require.NoError(t, err)

	var view eventView
	require.NoError(t, json.Unmarshal([]byte(c.must(t, "event", "show", "evt-1", "-o", "json")), &view))
	require.Equal(t, "NO_RECIPIENTS", view.Processed.Outcome)
	var list eventList
	require.NoError(t, json.Unmarshal([]byte(c.must(t, "event", "list", "-o", "json")), &list))
	require.Equal(t, "NO_RECIPIENTS", list.Events[0].Outcome)
	require.Contains(t, c.must(t, "event", "show", "evt-1"), "SUCCESS (NO_RECIPIENTS), since")
}

func TestPrintPurgedEvent(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	printEvent(&out, eventView{EventDetail: report.EventDetail{EventID: "evt-1"}, Workflow: workflowState{Status: unknownStatus}})
	require.Equal(t, "event\tevt-1\noutbox\tthe row was purged\nprocessed_event\tnone: its workflow was not started yet\nworkflow\tUNKNOWN\n", out.String())
}

func TestReadWorkflow(t *testing.T) {
	t.Parallel()

	outcome, err := converter.GetDefaultDataConverter().ToPayload("NO_ROUTING")
	require.NoError(t, err)
	attributes := &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{workflows.OutcomeAttribute.GetName(): outcome}}
	failure := errors.New("event cannot be planned")
	tests := []struct {
		name   string
		status enums.WorkflowExecutionStatus
		err    error // of describing
		result error // of the workflow
		want   workflowState
	}{
		{"running", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil, nil, workflowState{Status: "RUNNING", RunID: "run-1", HeraldOutcome: "NO_ROUTING"}},
		{"completed", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, nil, nil,
			workflowState{Status: "COMPLETED", RunID: "run-1", HeraldOutcome: "NO_ROUTING", Outcome: "NO_ROUTING", Problem: "no rows"}},
		{"failed", enums.WORKFLOW_EXECUTION_STATUS_FAILED, nil, failure,
			workflowState{Status: "FAILED", RunID: "run-1", HeraldOutcome: "NO_ROUTING", Failure: "event cannot be planned"}},
		{"forgotten", 0, serviceerror.NewNotFound("x"), nil,
			workflowState{Status: unknownStatus, Note: "Temporal does not know it: it was not started yet, or its retention has ended"}},
		{"out of reach", 0, serviceerror.NewUnavailable("down"), nil, workflowState{Status: unreachableStatus, Note: "down"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			temporal, run := mocks.NewClient(t), &mocks.WorkflowRun{}
			temporal.On("DescribeWorkflowExecution", mock.Anything, "evt-1", "").Return(&workflowservice.DescribeWorkflowExecutionResponse{
				WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
					Status: tt.status, Execution: &commonpb.WorkflowExecution{RunId: "run-1"}, SearchAttributes: attributes,
				},
			}, tt.err)
			temporal.On("GetWorkflow", mock.Anything, "evt-1", "run-1").Return(run).Maybe()
			run.On("Get", mock.Anything, mock.Anything).Run(func(args mock.Arguments) {
				*args.Get(1).(*workflows.NotifyResult) = workflows.NotifyResult{Outcome: "NO_ROUTING", Problem: "no rows"}
			}).Return(tt.result)

			require.Equal(t, tt.want, readWorkflow(t.Context(), temporal, "evt-1"))
		})
	}
}
