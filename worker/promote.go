package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/launch"
	"herald/internal/operate"
	"herald/workflows"
)

// maxPromoteRetry is the longest time between two attempts to promote. Other processes may have
// to start first.
const maxPromoteRetry = 10 * time.Second

// newOperator returns an operator that gives an order for the worker. operator_action has its orders, too.
func newOperator(store *db.DB, launcher *launch.Launcher, command string) *operate.Operator {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	order := operate.Order{Actor: "worker@" + host[:min(90, len(host))], Command: command}
	return &operate.Operator{Order: order, DB: store, Launcher: launcher}
}

// requireVersioning fails if Temporal has no Worker Versioning: the workers would get no tasks.
func (w *workers) requireVersioning(ctx context.Context) error {
	var lacking *launch.NoVersioningError
	retry(ctx, "waiting for Temporal", retryStart, func(ctx context.Context) error {
		_, err := w.operator.Launcher.Generations(ctx)
		if errors.As(err, &lacking) {
			return nil
		}
		return err
	})
	if lacking != nil {
		return lacking
	}
	return nil
}

// promote routes all tasks to the workers of this generation, unless WORKER_PROMOTE is manual, a
// newer generation is current, or an operator has decided otherwise.
func (w *workers) promote(ctx context.Context) {
	if w.cfg.WorkerPromote == config.PromoteManual {
		slog.Info("WORKER_PROMOTE=manual: a generation that is not current gets tasks after `starter workers promote`",
			"generation", workflows.CommandVersion)
		w.settled.Store(true)
		return
	}
	retry(ctx, "the generation is not promoted yet", maxPromoteRetry, func(ctx context.Context) error {
		err := w.promoteOnce(ctx)
		var missing *operate.MissingQueuesError
		if err == nil || errors.As(err, &missing) { // the missing process may wait for this process to be ready
			w.settled.Store(true)
		}
		return err
	})
}

func (w *workers) promoteOnce(ctx context.Context) error {
	if err := w.awaitPolls(ctx); err != nil {
		return err
	}
	order := operate.Promotion{Generation: workflows.CommandVersion, AtStart: true}
	promoted, err := w.operator.Promote(ctx, order)
	if why := new(operate.NotPromotedError); errors.As(err, &why) {
		slog.Warn("this worker's generation is not promoted", "generation", workflows.CommandVersion, "reason", why.Error())
		return nil
	}
	if err == nil && promoted.Changed {
		slog.Info("promoted", "generation", promoted.Generation, "from", promoted.From)
	}
	return err
}

const (
	// pollInterval is the time between two checks whether all queues are polled.
	pollInterval = 100 * time.Millisecond
	// pollPatience is the maximum wait until Temporal knows the workers' queues.
	pollPatience = 30 * time.Second
)

// awaitPolls waits until Temporal knows all task queues of this process. The tasks of an unknown
// queue would stay with the previous generation.
func (w *workers) awaitPolls(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	for {
		known, err := w.operator.Launcher.QueuesOf(ctx, workflows.CommandVersion)
		if err != nil {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(w.polled),
			func(polled client.WorkerDeploymentTaskQueueInfo) bool { return slices.Contains(known, polled) })
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Temporal server does not know yet that workers of generation %d poll %s: it may have reached its limit "+
				"matching.maxDeployments",
				workflows.CommandVersion, missing[0].Name)
		case <-time.After(pollInterval):
		}
	}
}
