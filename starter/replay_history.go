package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/workflows"
)

// maxHistoryFile is how large a file may be: Temporal ends a workflow whose history
// is larger.
const maxHistoryFile = 50 << 20

// fetchHistory reads a workflow's history from Temporal.
func (a *app) fetchHistory(ctx context.Context, from replaySource) (recording, error) {
	temporal, err := a.temporal(ctx)
	if err != nil {
		return recording{}, err
	}
	defer temporal.Close()
	described, err := temporal.DescribeWorkflowExecution(ctx, from.id, from.runID)
	var invalid *serviceerror.InvalidArgument
	switch {
	case isNotFound(err):
		return recording{}, advice.With(fmt.Errorf("no workflow %s is known to Temporal", strings.TrimSpace(from.id+" "+from.runID)),
			"check the ID; a workflow that has ended is forgotten when its retention ends")
	case errors.As(err, &invalid):
		return recording{}, misused(fmt.Errorf("workflow ID: %w", err))
	case err != nil:
		return recording{}, fmt.Errorf("describe %s: %w", from.id, err)
	}
	recorded := recording{
		WorkflowID: from.id, RunID: described.GetWorkflowExecutionInfo().GetExecution().GetRunId(), history: &history.History{},
	}
	var fetched atomic.Int64
	stop := a.Progress(func() string { return fmt.Sprintf("fetched %s events …", console.Grouped(int(fetched.Load()))) })
	defer stop()
	events := temporal.GetWorkflowHistory(ctx, from.id, recorded.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return recording{}, fmt.Errorf("read the history of %s: %w", from.id, err)
		}
		recorded.history.Events = append(recorded.history.Events, event)
		fetched.Add(1)
	}
	return recorded, nil
}

// readHistory reads a history from a file.
func readHistory(ctx context.Context, from replaySource) (recording, error) {
	text, err := readFile(from.file)
	if err != nil {
		return recording{}, misused(fmt.Errorf("--history: %w", err))
	}
	read, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	if err != nil {
		return recording{}, misused(fmt.Errorf("--history: %s is no history as `temporal workflow show -o json` prints it, "+
			"or as the Web UI downloads it, not decoded: %s", from.file, shortened(err.Error())))
	}
	if err := checkEncoding(ctx, read); err != nil {
		return recording{}, misused(fmt.Errorf("--history: %s %w", from.file, err))
	}
	return recording{File: from.file, history: read}, nil
}

// checkEncoding finds data that was decoded for reading: it would be taken for
// no data at all.
func checkEncoding(ctx context.Context, read *history.History) error {
	return proxy.VisitPayloads(ctx, read, proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, payload := range payloads {
				if len(payload.GetMetadata()) == 0 {
					return nil, errors.New("holds decoded data, which cannot be replayed: download it anew, not decoded")
				}
			}
			return payloads, nil
		},
	})
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	switch info, err := file.Stat(); {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case info.Size() > maxHistoryFile:
		return nil, fmt.Errorf("%s is larger than %d MB", path, maxHistoryFile>>20)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxHistoryFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxHistoryFile:
		return nil, fmt.Errorf("%s is larger than %d MB", path, maxHistoryFile>>20)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	}
	return text, nil
}

// check says why a history cannot be replayed, and reads what it is of.
func (r *recording) check() error {
	events := r.history.GetEvents()
	if len(events) == 0 {
		return misused(fmt.Errorf("the history of %s has no events", r.name()))
	}
	r.Events, r.WorkflowType = len(events), events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
	if r.WorkflowType == "" {
		return misused(fmt.Errorf("the history of %s does not begin with WorkflowExecutionStarted: it is not whole", r.name()))
	}
	for i, event := range events {
		if event.GetEventId() != int64(i+1) {
			return misused(fmt.Errorf("the history of %s is not whole: event %d stands where %d should", r.name(), event.GetEventId(), i+1))
		}
	}
	if known := workflowTypes(); !slices.Contains(known, r.WorkflowType) {
		return misused(fmt.Errorf("the history of %s is of a workflow of the type %s, which this build does not have; it has %s",
			r.name(), shortened(r.WorkflowType), strings.Join(known, ", ")))
	}
	if !slices.ContainsFunc(events, func(e *history.HistoryEvent) bool {
		return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	}) {
		return advice.With(fmt.Errorf("%s has not begun: no worker has completed a task of it, so there is nothing to replay", r.name()),
			"see `starter poller status` for workers, and replay it later")
	}
	return nil
}

func (r *recording) name() string {
	if r.File != "" {
		return r.File
	}
	return r.WorkflowID
}

// workflowTypes are the names of this build's workflows.
func workflowTypes() []string {
	var names []string
	for _, f := range workflows.All() {
		names = append(names, registeredName(f))
	}
	return names
}
