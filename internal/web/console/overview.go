package console

import (
	"context"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/escalation"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/report"
)

// span is a stretch of time of the pictures.
type span struct {
	Name    string
	Periods int
	Period  time.Duration
}

var spans = []span{
	{"hour", 6, 10 * time.Minute},
	{"day", 24, time.Hour},
	{"week", 28, 6 * time.Hour},
}

const (
	shownCauses   = 10
	shownAwaiting = 20
	// othersTimeout bounds the wait for Temporal and for the databases of other services, so that an
	// outage does not hold up the page.
	othersTimeout = time.Second
)

// overview is the data of the first page.
type overview struct {
	Outbox    notification.OutboxState
	FollowUps notification.FollowUpState
	Sweep     notification.Sweep
	Sources   []operate.SourceState
	Awaiting  []report.AwaitingEvent
	Failures  []report.FailureCount
	Providers []operate.ProviderView
	Pollers   operate.Pollers
	NoPollers string // why nothing is known about the pollers
	Span      span
	Spans     []span
	Charts    []chart
}

func (c *Console) overview(ctx context.Context, r *http.Request) (page, error) {
	data := &overview{Span: spans[0], Spans: spans}
	if i := slices.IndexFunc(spans, func(s span) bool { return s.Name == r.URL.Query().Get("span") }); i >= 0 {
		data.Span = spans[i]
	}
	group, ctx := errgroup.WithContext(ctx)
	store := c.Explain.DB
	load(group, &data.Outbox, func() (notification.OutboxState, error) { return event.On(store).OutboxState(ctx) })
	load(group, &data.FollowUps, func() (notification.FollowUpState, error) { return escalation.On(store).FollowUpState(ctx) })
	load(group, &data.Sweep, func() (notification.Sweep, error) { return event.On(store).LastSweep(ctx) })
	load(group, &data.Sources, func() ([]operate.SourceState, error) {
		return operate.ReadSources(ctx, store, c.Sources, othersTimeout)
	})
	load(group, &data.Awaiting, func() ([]report.AwaitingEvent, error) { return c.reader().AwaitingEvents(ctx, shownAwaiting) })
	load(group, &data.Failures, func() ([]report.FailureCount, error) { return c.reader().Failures(ctx, shownCauses) })
	load(group, &data.Providers, func() ([]operate.ProviderView, error) { return c.Providers(ctx) })
	load(group, &data.Charts, func() ([]chart, error) { return c.charts(ctx, data.Span) })
	group.Go(func() error {
		ctx, cancel := context.WithTimeout(ctx, othersTimeout)
		defer cancel()
		var err error
		if data.Pollers, err = c.Pollers(ctx); err != nil {
			data.NoPollers = "Temporal does not answer in time."
			c.Logger.WarnContext(ctx, "the console cannot read the pollers", "error", err)
		}
		return nil
	})
	return page{name: "overview", title: "Overview", data: data}, group.Wait()
}

// load reads a part of a page while the group reads the others.
func load[T any](group *errgroup.Group, into *T, read func() (T, error)) {
	group.Go(func() (err error) {
		*into, err = read()
		return err
	})
}

func (c *Console) charts(ctx context.Context, s span) ([]chart, error) {
	start := c.now().UTC().Truncate(s.Period).Add(-time.Duration(s.Periods-1) * s.Period)
	counts, err := c.reader().DeliveryHistory(ctx, start, s.Period)
	return drawCharts(counts, start, s), err
}
