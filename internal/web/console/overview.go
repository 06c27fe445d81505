package console

import (
	"context"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/attention"
	"herald/internal/escalation"
	"herald/internal/event"
	"herald/internal/list"
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
	shownProblems = 20
	// lastDay is the time in which failures and missed events are problems.
	lastDay = 24 * time.Hour
	// othersTimeout bounds the wait for Temporal and for the databases of other services, so that an
	// outage does not hold up the page.
	othersTimeout = time.Second
)

// overview is the data of the first page.
type overview struct {
	attention.State
	Failures  []report.FailureCount
	NoPollers string // why nothing is known about the pollers
	Headline  string
	Good      bool          // nothing needs a person
	Problems  []problemLine // at most shownProblems
	More      int           // problems that are not shown
	IsFresh   bool          // no event has come yet
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
	load(group, &data.Ended, func() ([]report.OutcomeCount, error) {
		return c.reader().EndedEvents(ctx, lastDay, append(notification.MendableOutcomes(), notification.EventFailed)...)
	})
	load(group, &data.Unplanned, func() (report.UnplannedEvents, error) { return c.reader().UnplannedEvents(ctx) })
	load(group, &data.Late, func() ([]report.AttemptGroup, error) { return c.reader().LateDeliveries(ctx) })
	load(group, &data.Failed, func() ([]report.AttemptGroup, error) { return c.reader().FailedDeliveries(ctx, lastDay) })
	load(group, &data.IsFresh, func() (bool, error) {
		events, err := c.lists().Events(ctx, list.EventFilter{}, list.Place{Limit: 1})
		return len(events.Rows) == 0, err
	})
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
	err := group.Wait()
	data.Now, data.PollersKnown = c.now(), data.NoPollers == ""
	data.find()
	return page{name: "overview", title: "Overview", data: data, running: true}, err
}

// find fills in the problems.
func (o *overview) find() {
	findings := attention.Find(o.State)
	o.Headline, o.Good = headline(findings)
	o.More = max(0, len(findings)-shownProblems)
	o.Problems = inWords(findings[:len(findings)-o.More], o.Now)
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
