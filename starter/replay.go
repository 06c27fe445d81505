package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/api/history/v1"

	"herald/internal/advice"
	"herald/internal/console"
)

// replayTimeout is far above what the longest history takes, both to fetch and
// to replay.
const replayTimeout = 5 * time.Minute

func (a *app) replayCommand() *cobra.Command {
	var from replaySource
	cmd := &cobra.Command{
		Use:   "replay (ID | --history FILE)",
		Short: "Replay a workflow's history against this build",
		Long: `Replay a workflow's history against this build, which changes nothing: nothing is sent
or written. It says "replays cleanly", or at which event this build would do something
else than was done: a worker of this build could then not go on with such a workflow.

ID is a workflow ID: of an event, a delivery, a poller. Its latest run is replayed,
unless --run-id names another. FILE is a history as "temporal workflow show -o json"
prints it, or as the Web UI downloads it, not decoded.`,
		Example: `  starter replay evt-1
  starter replay evt-1-staff10-EMAIL --run-id 0198f3a1-7c55-7d3e-9a51-0a4d3c2b1f00
  temporal workflow show -w evt-1 -o json > evt-1.json; starter replay --history evt-1.json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: console.CompleteOne(a.completeEvents()),
		RunE: a.within(replayTimeout, func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				from.id = args[0]
			}
			return a.replay(ctx, from)
		}),
	}
	cmd.Flags().StringVar(&from.file, "history", "", "`FILE` of a history, instead of an ID")
	cmd.Flags().StringVar(&from.runID, "run-id", "", "run of the ID; without it the latest")
	_ = cmd.MarkFlagFilename("history", "json")
	return cmd
}

// replaySource is where a history comes from: a workflow, or a file.
type replaySource struct{ id, runID, file string }

func (s replaySource) check() error {
	switch {
	case s.id != "" && s.file != "":
		return errors.New("name a workflow ID or --history FILE, not both")
	case s.id == "" && s.file == "":
		return errors.New("name a workflow ID, or a file by --history FILE")
	case s.file != "" && s.runID != "":
		return errors.New("--run-id goes with a workflow ID, not with --history")
	case s.runID != "" && uuid.Validate(s.runID) != nil:
		return errors.New("--run-id must be a run ID such as the Web UI shows, a UUID")
	}
	return nil
}

// recording is a history and whose it is.
type recording struct {
	WorkflowID   string `json:"workflow_id,omitempty"`
	RunID        string `json:"run_id,omitempty"`
	File         string `json:"file,omitempty"`
	WorkflowType string `json:"workflow_type"`
	Events       int    `json:"events"`
	history      *history.History
}

// replayView is what `starter replay` prints.
type replayView struct {
	recording
	Clean      bool        `json:"clean"`
	Divergence *divergence `json:"divergence"` // null: it replays cleanly
}

func (a *app) replay(ctx context.Context, from replaySource) error {
	if err := from.check(); err != nil {
		return misused(err)
	}
	read := a.fetchHistory
	if from.file != "" {
		read = readHistory
	}
	recorded, err := read(ctx, from)
	if err != nil {
		return err
	}
	if err := recorded.check(); err != nil {
		return err
	}
	stop := a.Progress(func() string { return fmt.Sprintf("replaying %s events …", console.Grouped(recorded.Events)) })
	found, err := diverges(ctx, recorded.history)
	stop()
	if err != nil {
		return err
	}
	view := replayView{recording: recorded, Clean: found == nil, Divergence: found}
	if err := a.Print(view, func(w io.Writer) { printReplay(w, view) }); err != nil || view.Clean {
		return err
	}
	return advice.With(fmt.Errorf("it does not replay: this build diverges at event %d", found.EventID),
		"keep the workers of the build that began it until it has ended, or make the change with workflow.GetVersion")
}

func printReplay(w io.Writer, view replayView) {
	if view.Clean {
		console.Row(w, fmt.Sprintf("replays cleanly: %s, %s events", view.WorkflowType, console.Grouped(view.Events)))
		return
	}
	d := view.Divergence
	console.Row(w, fmt.Sprintf("diverges: %s, at event %d of %s", view.WorkflowType, d.EventID, console.Grouped(view.Events)))
	console.Row(w)
	console.Row(w, "history", d.Expected)
	console.Row(w, "this build", console.Dash(d.Actual))
	console.Row(w, "code", console.Dash(d.Code))
	console.Row(w, "message", d.Message)
}
