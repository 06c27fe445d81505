package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/codec"
	"herald/internal/launch"
	"herald/internal/replay"
	"herald/workflows"
)

// History is a recorded history of a workflow, and its origin.
type History struct {
	WorkflowID   string `json:"workflow_id,omitempty"`
	RunID        string `json:"run_id,omitempty"`
	File         string `json:"file,omitempty"`
	WorkflowType string `json:"workflow_type"`
	Events       int    `json:"events"`
	recorded     []*historypb.HistoryEvent
}

// BadHistoryError means that the file or workflow has no history that this build can replay.
type BadHistoryError struct{ err error }

func (e *BadHistoryError) Error() string { return e.err.Error() }

func (e *BadHistoryError) Unwrap() error { return e.err }

func badHistory(format string, args ...any) error {
	return &BadHistoryError{fmt.Errorf(format, args...)}
}

// FetchHistory reads the history of a run from Temporal. If runID is empty, it reads the latest
// run.
func (e Explainer) FetchHistory(ctx context.Context, id, runID string) (History, error) {
	described, err := launch.Describe(ctx, e.Temporal, id, runID)
	switch {
	case errors.As(err, new(*serviceerror.InvalidArgument)):
		return History{}, badHistory("workflow ID or --run-id: %w", err)
	case err != nil:
		return History{}, err
	case described == nil:
		return History{}, advice.With(fmt.Errorf("no workflow %s is known to Temporal", strings.TrimSpace(id+" "+runID)),
			"check the ID; Temporal forgets a workflow when the retention after its end is over")
	}
	h := History{WorkflowID: id, RunID: described.GetWorkflowExecutionInfo().GetExecution().GetRunId()}
	if h.recorded, err = replay.Fetch(ctx, e.Temporal, id, h.RunID); err != nil {
		return History{}, err
	}
	return h, h.check()
}

// maxHistoryFile is the largest size of a history file in bytes. Temporal limits its histories to
// 50 MB.
const maxHistoryFile = 50 << 20

// ReadHistory reads a history from a file of at most 50 MB. Its payloads may be encrypted.
func ReadHistory(ctx context.Context, path string, keys codec.Codec) (History, error) {
	file, err := os.Open(path)
	if err != nil {
		return History{}, &BadHistoryError{err}
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxHistoryFile+1))
	switch {
	case err != nil:
		return History{}, &BadHistoryError{err}
	case len(text) > maxHistoryFile:
		return History{}, badHistory("%s is larger than %d MB", path, maxHistoryFile>>20)
	}
	read, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	if err != nil {
		return History{}, badHistory("%s is not a history in the form of `temporal workflow show -o json` "+
			"or of a download from the Web UI without decoding: %.300s", path, err.Error())
	}
	if err := checkEncoding(ctx, read); err != nil {
		return History{}, badHistory("%s %w", path, err)
	}
	if err := keys.DecodeMessage(ctx, read); err != nil {
		return History{}, badHistory("%s cannot be decrypted: %w", path, err)
	}
	h := History{File: path, recorded: read.GetEvents()}
	return h, h.check()
}

// checkEncoding returns an error if the payloads were decoded for reading: a replay would treat
// them as missing.
func checkEncoding(ctx context.Context, read *historypb.History) error {
	return proxy.VisitPayloads(ctx, read, proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, payload := range payloads {
				if len(payload.GetMetadata()) == 0 {
					return nil, errors.New("holds decoded data, which cannot be replayed: download it again without decoding")
				}
			}
			return payloads, nil
		},
	})
}

// check returns why a history cannot be replayed, and sets Events and WorkflowType.
func (h *History) check() error {
	name := h.File + h.WorkflowID
	if len(h.recorded) == 0 {
		return badHistory("the history of %s has no events", name)
	}
	h.Events, h.WorkflowType = len(h.recorded), h.recorded[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
	if h.WorkflowType == "" {
		return badHistory("the history of %s does not begin with WorkflowExecutionStarted: it is incomplete", name)
	}
	for i, event := range h.recorded {
		if event.GetEventId() != int64(i+1) {
			return badHistory("the history of %s is incomplete: it has event %d in place of event %d", name, event.GetEventId(), i+1)
		}
	}
	if known := workflowTypes(); !slices.Contains(known, h.WorkflowType) {
		return badHistory("the history of %s is of the workflow type %.300s, which this build does not have; the build has %s",
			name, h.WorkflowType, strings.Join(known, ", "))
	}
	if !replay.Begun(h.recorded) {
		return advice.With(fmt.Errorf("%s has not begun: no worker has completed a task of it, so there is nothing to replay", name),
			"see `starter poller status` for workers, and replay it later")
	}
	return nil
}

// workflowTypes returns the names of this build's workflows.
func workflowTypes() []string {
	var names []string
	for _, f := range workflows.All() {
		names = append(names, registeredName(f))
	}
	return names
}

// Replay replays a history with this build's code. It sends and writes nothing. problem is the
// SDK's description of where the build diverges; nil: it does what was recorded.
func Replay(ctx context.Context, h History) (problem, err error) {
	type result struct{ problem, err error }
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if panicked := recover(); panicked != nil {
				r = result{err: badHistory("the history is malformed: %.300s", fmt.Sprint(panicked))}
			}
			done <- r
		}()
		r.problem = replay.Run(h.recorded)
	}()
	select {
	case r := <-done:
		return r.problem, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
