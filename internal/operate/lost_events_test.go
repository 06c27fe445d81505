package operate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
)

// visibility is a Temporal that lists the workflows of events in pages.
type visibility struct {
	client.Client
	pages   [][]string
	queries []string
}

func (v *visibility) ListWorkflow(
	_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	v.queries = append(v.queries, request.GetQuery())
	page := len(request.GetNextPageToken())
	found := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range v.pages[page] {
		found.Executions = append(found.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}})
	}
	if page+1 < len(v.pages) {
		found.NextPageToken = []byte(strings.Repeat("x", page+1))
	}
	return found, nil
}

// LostEvents counts what event_outbox lacks over all pages, and names the first.
func TestLostEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: "kept-1"}, postgrestest.Event{ID: "kept-2"})
	temporal := &visibility{pages: [][]string{{"kept-1", "gone", "gone"}, {}, {"kept-2"}}}
	for i := range 25 {
		temporal.pages[1] = append(temporal.pages[1], fmt.Sprintf("lost-%02d", i))
	}
	now := time.Now()
	for i, attempt := range []struct{ began, until time.Time }{
		{now.Add(-time.Minute), now.Add(-time.Second)},
		{now.Add(-time.Minute), now.Add(time.Minute)},
		{now.AddDate(0, 0, -2), now.AddDate(0, 0, -1)},
	} {
		id := fmt.Sprint("d", i)
		postgrestest.Add(t, s.Pool, postgrestest.Delivery{EventID: "kept-1", UserID: fmt.Sprint(i), ID: id, Status: notification.Pending})
		postgrestest.Exec(t, s, "UPDATE notification SET attempt_owner = 'w', attempt_began = $2, attempt_until = $3 WHERE delivery_id = $1",
			id, attempt.began, attempt.until)
	}
	o := &Operator{DB: s, Launcher: &launch.Launcher{Client: temporal, Prefix: "test"}}
	since := now.Add(-time.Hour).UTC().Truncate(time.Second)

	found, err := o.LostEvents(t.Context(), since)

	require.NoError(t, err)
	require.Equal(t, 29, found.Looked)
	require.Equal(t, 26, found.Lost)
	require.Len(t, found.IDs, maxLostIDs)
	require.Equal(t, []string{"gone", "lost-00"}, found.IDs[:2])
	require.Equal(t, 1, found.Unended)
	require.Equal(t, []string{"d0"}, found.UnendedIDs)
	require.Len(t, temporal.queries, 3)
	require.Equal(t, "WorkflowType = 'NotifyEvent' AND TaskQueue = 'test-events' AND StartTime >= '"+since.Format(time.RFC3339)+"'", temporal.queries[0])
}
