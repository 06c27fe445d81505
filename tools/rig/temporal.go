package rig

import (
	"context"
	"log/slog"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"herald/workflows"
)

// DialTemporal connects to the server of TEMPORAL_ADDRESS.
func DialTemporal(ctx context.Context) (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return client.DialContext(ctx, options)
}

// Workflows returns the workflows that a query finds in Temporal's list.
func Workflows(ctx context.Context, temporal client.Client, query string) (found []*workflow.WorkflowExecutionInfo, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000, Query: query}
	for {
		page, err := temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		found = append(found, page.GetExecutions()...)
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return found, nil
		}
	}
}

// EndWorkflows ends an installation's schedules and workflows that never end by themselves, also the
// pollers of dead workers. Some do not exist if the worker failed early.
func EndWorkflows(ctx context.Context, temporal client.Client, prefix string, sources ...string) {
	for _, id := range []string{workflows.SweepID(prefix), workflows.CleaningID(prefix)} {
		_ = temporal.ScheduleClient().GetHandle(ctx, id).Delete(ctx)
	}
	ids := []string{workflows.FollowUpID(prefix)}
	for _, source := range sources {
		ids = append(ids, workflows.PollerID(prefix, source, 1))
	}
	for _, id := range ids {
		_ = temporal.TerminateWorkflow(ctx, id, "", "the run has ended")
	}
}
