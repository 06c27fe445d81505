// Command histories records the histories that workflows/replay_test.go replays: one per
// workflow and outcome, from a real Temporal server and fake activities. Record again when a
// workflow has a new outcome. The histories of a release never change.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"herald/internal/launch"
)

func main() {
	dir := flag.String("dir", "workflows/testdata/v0.3", "`folder` of the histories of the next release")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return fmt.Errorf("read the settings of Temporal: %w", err)
	}
	options.Identity = "histories" // the default has this machine's name
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer temporal.Close()
	if err := launch.RegisterSearchAttributes(ctx, temporal, cmp.Or(options.Namespace, client.DefaultNamespace)); err != nil {
		return err
	}

	all := scenarios()
	stop, err := serve(temporal, all)
	if err != nil {
		return err
	}
	defer stop()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range all {
		group.Go(func() error {
			if err := record(ctx, temporal, s, dir); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// record runs one scenario to its end and writes its histories.
func record(ctx context.Context, temporal client.Client, s *scenario, dir string) error {
	if err := s.take(ctx, temporal, s.before); err != nil {
		return err
	}
	options := client.StartWorkflowOptions{ID: s.id, TaskQueue: s.queue}
	run, err := temporal.ExecuteWorkflow(ctx, options, s.workflow, s.input...)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	first := run.GetRunID() // of the first run; Get waits for the last
	if err := s.take(ctx, temporal, s.meanwhile); err != nil {
		return err
	}
	_ = run.Get(ctx, nil) // the recorded outcome may be an error; the replay test checks it
	if ctx.Err() != nil {
		return fmt.Errorf("no end: %w", ctx.Err())
	}
	for name, execution := range s.files(first) {
		_ = temporal.GetWorkflow(ctx, execution.ID, execution.RunID).Get(ctx, nil) // a digest may end after its items
		if err := save(ctx, temporal, execution, filepath.Join(dir, name+".json")); err != nil {
			return err
		}
	}
	return nil
}

func save(ctx context.Context, temporal client.Client, execution workflow.Execution, path string) error {
	var recorded history.History
	for events := temporal.GetWorkflowHistory(ctx, execution.ID, execution.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("read the history of %s: %w", execution.ID, err)
		}
		recorded.Events = append(recorded.Events, event)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&recorded)
	if err != nil {
		return fmt.Errorf("write the history of %s: %w", execution.ID, err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
