package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"herald/internal/outboxes"
)

// walk runs the walk of a source until it is told to stop.
func walk(ctx context.Context, name string, of *outboxes.Walk) outboxes.PollResult {
	return of.Poll(ctx, outboxes.Run{
		Log:      activity.GetLogger(ctx),
		Metrics:  sourceMetrics{ofSource(ctx, name)},
		Stopped:  func() bool { return ctx.Err() != nil || stopping(ctx) },
		Sleep:    func(d time.Duration) { sleep(ctx, d, nil) },
		Unquoted: Unquoted,
	})
}

// sourceMetrics records the metrics of a walk.
type sourceMetrics struct{ client.MetricsHandler }

func (m sourceMetrics) Refused(records int)            { m.Counter(SinkRefusalsMetric).Inc(int64(records)) }
func (m sourceMetrics) Untold(rows int)                { m.Counter(UntoldRowsMetric).Inc(int64(rows)) }
func (m sourceMetrics) Acknowledged(age time.Duration) { m.Timer(CommitToTopicMetric).Record(age) }

// ofSource returns the metrics handler of a source.
func ofSource(ctx context.Context, source string) client.MetricsHandler {
	return activity.GetMetricsHandler(ctx).WithTags(map[string]string{SourceLabel: source})
}
