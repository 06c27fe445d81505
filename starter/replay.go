package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/config"
	"herald/internal/explain"
	"herald/internal/terminal"
)

// replayTimeout is much longer than fetching and replaying the longest history takes.
const replayTimeout = 5 * time.Minute

func replayCommand(a *app) *cobra.Command {
	var from replaySource
	cmd := &cobra.Command{
		Use:   "replay (ID | --history FILE)",
		Short: "Replay a workflow's history against this build",
		Long: `Replay a workflow's history against this build. It sends and writes nothing. It prints
"replays cleanly", or the first difference between this build and the history. If they
differ, workers of this build cannot continue the workflow.

ID is a workflow ID of an event, a delivery or a poller. Without --run-id, it replays the
latest run. FILE is a history from "temporal workflow show -o json", or downloaded from the
Web UI without decoding. HISTORY_KEYS decrypts it.`,
		Example: `  starter replay evt-1
  starter replay evt-1-staff10-EMAIL --run-id 0198f3a1-7c55-7d3e-9a51-0a4d3c2b1f00
  temporal workflow show -w evt-1 -o json > evt-1.json; starter replay --history evt-1.json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: terminal.CompleteOne(completeEvents(a)),
		RunE: a.within(replayTimeout, func(ctx context.Context, args []string) error {
			from.id = strings.Join(args, "")
			return a.replay(ctx, from)
		}),
	}
	cmd.Flags().StringVar(&from.file, "history", "", "`FILE` of a history, instead of an ID")
	cmd.Flags().StringVar(&from.runID, "run-id", "", "run of the ID; without it the latest")
	_ = cmd.MarkFlagFilename("history", "json")
	cmd.MarkFlagsMutuallyExclusive("history", "run-id")
	return cmd
}

// replaySource names the source of a history: a workflow or a file.
type replaySource struct{ id, runID, file string }

// replayView is the output of `starter replay`.
type replayView struct {
	explain.History
	Clean      bool   `json:"clean"`
	Divergence string `json:"divergence"` // the SDK's message; empty if the history replays without a divergence
}

func (a *app) replay(ctx context.Context, from replaySource) error {
	if (from.id == "") == (from.file == "") {
		return misused(errors.New("name either a workflow ID or a file by --history FILE"))
	}
	view, err := readAndReplay(ctx, a, from)
	if errors.As(err, new(*explain.BadHistoryError)) {
		return misused(err)
	}
	if err != nil {
		return err
	}
	if err := a.Print(view, func(w io.Writer) { printReplay(w, view) }); err != nil || view.Clean {
		return err
	}
	return advice.With(errors.New("it does not replay: this build diverges"),
		"keep workers of the build that began it until it ends, or version the change")
}

func readAndReplay(ctx context.Context, a *app, from replaySource) (view replayView, err error) {
	defer a.Progress(func() string { return "replaying …" })()
	if view.History, err = readHistory(ctx, a, from); err != nil {
		return replayView{}, err
	}
	problem, err := explain.Replay(ctx, view.History)
	if view.Clean = problem == nil; problem != nil {
		view.Divergence = terminal.Cut(problem.Error(), maxMessage)
	}
	return view, err
}

func readHistory(ctx context.Context, a *app, from replaySource) (explain.History, error) {
	if from.file != "" {
		keys, err := config.Codec(a.environment)
		if err != nil {
			return explain.History{}, misset(err)
		}
		return explain.ReadHistory(ctx, from.file, keys)
	}
	temporal, err := a.temporal(ctx)
	if err != nil {
		return explain.History{}, err
	}
	return explain.Explainer{Temporal: temporal}.FetchHistory(ctx, from.id, from.runID)
}

// maxMessage is the maximum length of the SDK's message, in characters.
const maxMessage = 1000

func printReplay(w io.Writer, view replayView) {
	if view.Clean {
		terminal.Row(w, fmt.Sprintf("replays cleanly: %s, %s events", view.WorkflowType, terminal.Grouped(view.Events)))
		return
	}
	terminal.Row(w, fmt.Sprintf("diverges: %s, %s events", view.WorkflowType, terminal.Grouped(view.Events)))
	terminal.Row(w, view.Divergence)
}
