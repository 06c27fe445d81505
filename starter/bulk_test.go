package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/internal/advice"
	"herald/internal/console"
)

// What is called wrong changes nothing, and needs no server to say so.
func TestUsageOfChanges(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		args []string
		want string
	}{
		{"cancel nothing", []string{"delivery", "cancel"}, "name what to cancel: ids, or filters such as --event"},
		{"cancel all", []string{"delivery", "cancel", "--yes"}, "name what to cancel"},
		{"retry nothing", []string{"delivery", "retry", "--dry-run"}, "name what to retry"},
		{"ids and filters", []string{"delivery", "retry", "d1", "--channel", "SMS"}, "not both"},
		{"ids and a place to go on", []string{"delivery", "retry", "d1", "--after", "7"}, "--after goes with filters"},
		{"no place to go on", []string{"delivery", "retry", "--event", "e", "--after", "-7"}, "--after must be the number"},
		{"unknown channel", []string{"delivery", "cancel", "--channel", "FAX"}, "--channel"},
		{"unknown status", []string{"delivery", "retry", "--status", "BAD"}, "--status"},
		{"malformed time", []string{"delivery", "cancel", "--since", "yesterday"}, "--since"},
		{"cancel what failed", []string{"delivery", "cancel", "--status", "FAILED"}, "only PENDING can be cancelled"},
		{"retry what was sent", []string{"delivery", "retry", "--status", "SENT"}, "with --again only"},
		{"again without status", []string{"delivery", "retry", "--event", "e", "--again", "--yes"}, "takes --status SENT or DELIVERED"},
		{"again without yes", []string{"delivery", "retry", "--status", "SENT", "--again"}, "takes --yes"},
		{"send nothing", []string{"delivery", "send-now"}, "requires at least 1 arg"},
		{"reschedule nothing", []string{"delivery", "reschedule", "--in", "1h"}, "requires at least 1 arg"},
		{"reschedule to no time", []string{"delivery", "reschedule", "d1"}, "--at or by --in"},
		{"reschedule to two times", []string{"delivery", "reschedule", "d1", "--in", "1h", "--at", "2030-01-01T00:00:00Z"}, "--at or by --in"},
		{"reschedule to the past", []string{"delivery", "reschedule", "d1", "--at", "2020-01-01T00:00:00Z"}, "is past"},
		{"reschedule to another age", []string{"delivery", "reschedule", "d1", "--in", "366d"}, "of a year at most"},
		{"cancel no event", []string{"event", "cancel"}, "requires at least 1 arg"},
		{"retry no event", []string{"event", "retry"}, "name what to retry: ids, or filters such as --all-failed"},
		{"retry an event and all", []string{"event", "retry", "e", "--all-failed"}, "not both"},
		{"retry an event of a type", []string{"event", "retry", "e", "--type", "T"}, "go with --all-failed"},
		{"retry events since never", []string{"event", "retry", "--all-failed", "--since", "never"}, "--since"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got := terminal{}.run(t, tt.args...)

			require.Equal(t, calledWrong, got.code, got.err)
			require.Empty(t, got.out)
			require.Contains(t, got.err, tt.want)
		})
	}
}

// world is what a job changes in these tests: ids of which the named outcomes
// and errors are told.
type world struct {
	errs    map[string]error
	refused map[string]string
	onDo    func(id string)
	waits   func(id string) bool // until the others stop

	unrecorded string // a target that cannot be recorded

	mu       sync.Mutex
	done     []string
	recorded []string
}

func (w *world) do(ctx context.Context, id string) (outcome, error) {
	if w.onDo != nil {
		w.onDo(id)
	}
	if w.waits != nil && w.waits(id) {
		<-ctx.Done()
		return outcome{}, ctx.Err()
	}
	if err := w.errs[id]; err != nil {
		return outcome{}, err
	}
	if why := w.refused[id]; why != "" {
		return outcome{ID: id, Result: why, next: "leave it"}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, id)
	return outcome{ID: id, Done: true, Result: "changed"}, nil
}

func (w *world) plan(_ context.Context, id string) (plan, error) {
	would := outcome{ID: id, Done: true, Result: "would be changed"}
	return plan{would, func(ctx context.Context) (outcome, error) { return w.do(ctx, id) }}, nil
}

func (w *world) record(_ context.Context, target, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unrecorded != "" && w.unrecorded == target {
		return errors.New("no place to record it")
	}
	w.recorded = append(w.recorded, target)
	return nil
}

func (w *world) job(flags bulkFlags) job {
	return job{verb: "change", noun: theDeliveries, flags: flags, plan: w.plan, record: w.record}
}

// rows are d1 to dn, whose numbers are ten times that.
func rows(n int) selection {
	page := func(_ context.Context, after string, limit int) ([]item, error) {
		behind, err := deliveryNumber(after)
		if err != nil {
			return nil, err
		}
		var items []item
		for i := int(behind)/10 + 1; i <= n && len(items) < limit; i++ {
			items = append(items, item{strconv.Itoa(i * 10), fmt.Sprintf("d%d", i)})
		}
		return items, nil
	}
	return selection{matched: n, page: page}
}

type screen struct{ out, err bytes.Buffer }

func (s *screen) app(format console.Format) *app {
	return &app{Output: console.Output{Out: &s.out, Err: &s.err, Format: format}}
}

func TestSelected(t *testing.T) {
	t.Parallel()

	w := &world{
		errs:    map[string]error{},
		refused: map[string]string{"d7": "was sent", "d8": "was sent", "d9": "is under way"},
	}
	for i := 20; i < 35; i++ {
		w.errs[fmt.Sprintf("d%d", i)] = errors.New("connection reset")
	}
	var s screen

	err := s.app(console.JSON).selected(t.Context(), w.job(bulkFlags{yes: true}), rows(1234))

	require.ErrorContains(t, err, "15 deliveries failed")
	require.Contains(t, s.err.String(), "1,234 deliveries match")
	var got changes
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &got))
	require.Len(t, w.done, 1234-3-15)
	require.Len(t, got.Errors, 10)
	require.Contains(t, got.Errors[0], "connection reset")
	got.Errors = nil
	require.Equal(t, changes{
		Matched: 1234, Done: 1234 - 3 - 15, Skipped: map[string]int{"was sent": 2, "is under way": 1}, Failed: 15, Through: "12340",
	}, got)
}

func TestSelectedAsks(t *testing.T) {
	t.Parallel()

	w := &world{}
	var s screen
	err := s.app(console.Table).selected(t.Context(), w.job(bulkFlags{}), rows(101))
	var misuse *usageError
	require.ErrorAs(t, err, &misuse)
	require.ErrorContains(t, err, "101 deliveries would change, and nothing did: to change more than 100 at once add --yes")
	require.Empty(t, w.done)

	require.NoError(t, s.app(console.Table).selected(t.Context(), w.job(bulkFlags{}), rows(100)))
	require.Len(t, w.done, 100)
	require.Equal(t, "matched  100\ndone     100\nfailed   0\n", s.out.String())
}

func TestSelectedNothing(t *testing.T) {
	t.Parallel()

	var s screen
	require.NoError(t, s.app(console.Table).selected(t.Context(), (&world{}).job(bulkFlags{}), rows(0)))
	require.Equal(t, "0 deliveries match\n", s.err.String())
}

func TestSelectedDryRun(t *testing.T) {
	t.Parallel()

	w := &world{}
	var s screen
	require.NoError(t, s.app(console.Table).selected(t.Context(), w.job(bulkFlags{dryRun: true}), rows(1234)))
	require.Empty(t, w.done)
	require.Contains(t, s.out.String(), "d10  would be changed")
	require.NotContains(t, s.out.String(), "d11")
	require.Contains(t, s.out.String(), "… and 1,224 more")
	require.Contains(t, s.out.String(), "nothing was changed")
}

// An interrupted command says how far it came, and goes on from there: between
// the two everything is done.
func TestSelectedResumes(t *testing.T) {
	t.Parallel()

	ctx, interrupt := context.WithCancel(t.Context())
	w := &world{onDo: func(id string) {
		if id == "d700" {
			interrupt()
		}
	}}
	var s screen
	a := s.app(console.JSON)
	err := a.selected(ctx, w.job(bulkFlags{yes: true}), rows(1000))

	require.ErrorContains(t, err, "interrupted: ")
	var got changes
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &got))
	require.Equal(t, "run it again with --after "+got.Through, a.nextStep(err))
	through, err := deliveryNumber(got.Through)
	require.NoError(t, err)
	require.GreaterOrEqual(t, through, int64(5000), "the page before is through")
	require.Less(t, through, int64(10000))

	w.onDo = nil
	require.NoError(t, s.app(console.Table).selected(t.Context(), w.job(bulkFlags{yes: true, after: got.Through}), rows(1000)))
	require.Contains(t, s.err.String(), "going on behind "+got.Through)
	done := map[string]bool{}
	for _, id := range w.done {
		done[id] = true
	}
	require.Len(t, done, 1000)
}

// A server that is out of reach is not asked a thousand times.
func TestSelectedStops(t *testing.T) {
	t.Parallel()

	for _, down := range []error{
		serviceerror.NewUnavailable("no connection"),
		serviceerror.NewDeadlineExceeded("late"), // what is left of Unavailable once the time for one is over
		context.DeadlineExceeded,
	} {
		t.Run(fmt.Sprintf("%T", down), func(t *testing.T) {
			t.Parallel()

			w := &world{
				errs:  map[string]error{"d42": fmt.Errorf("retry d42: %w", down)},
				waits: func(id string) bool { return len(id) > len("d99") },
			}
			var s screen
			a := s.app(console.JSON)
			err := a.selected(t.Context(), w.job(bulkFlags{yes: true}), rows(1000))

			require.ErrorContains(t, err, "stopped: ")
			require.ErrorIs(t, err, down)
			require.Contains(t, a.nextStep(err), "run it again with --after ")
			require.Less(t, len(w.done), 100)
		})
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()

	const unknown = "no such delivery in notification"
	w := &world{
		refused: map[string]string{"sent": "was sent"},
		errs:    map[string]error{"gone": advice.With(errors.New(unknown), "check the id")},
	}
	tests := []struct {
		name       string
		ids        []string
		flags      bulkFlags
		out        string
		want, next string
	}{
		{"one", []string{"a"}, bulkFlags{}, "a  changed  \n", "", ""},
		{"twice the same", []string{"a", "a"}, bulkFlags{}, "a  changed  \n", "", ""},
		{"several, in their order", []string{"b", "a"}, bulkFlags{}, "b  changed  \na  changed  \n", "", ""},
		{"one refused", []string{"sent"}, bulkFlags{}, "", "sent was sent", "leave it"},
		{"one unknown", []string{"gone"}, bulkFlags{}, "", unknown, "check the id"},
		{"some", []string{"gone", "a", "sent"}, bulkFlags{}, "gone  error     " + unknown + "\na     changed   \nsent  was sent  \n", "2 of 3 deliveries: not done", "check the id"},
		{"dry run", []string{"sent"}, bulkFlags{dryRun: true}, "sent  would be changed  \nnothing was changed\n", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var s screen
			a := s.app(console.Table)
			err := a.named(t.Context(), w.job(tt.flags), tt.ids)

			require.Equal(t, tt.out, s.out.String())
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.next, a.nextStep(err))
		})
	}
}

func TestNamedAsks(t *testing.T) {
	t.Parallel()

	ids := make([]string, 101)
	for i := range ids {
		ids[i] = fmt.Sprintf("d%d", i)
	}
	w := &world{}
	var s screen
	var misuse *usageError
	require.ErrorAs(t, s.app(console.Table).named(t.Context(), w.job(bulkFlags{}), ids), &misuse)
	require.Empty(t, w.done)
	require.NoError(t, s.app(console.Table).named(t.Context(), w.job(bulkFlags{yes: true}), ids))
	require.Len(t, w.done, 101)
}

func TestProgress(t *testing.T) {
	t.Parallel()

	run := newBulkRun(&app{}, (&world{}).job(bulkFlags{}), 12345)
	require.Equal(t, "0 of 12,345 deliveries", run.progress())
	require.NoError(t, run.all(t.Context(), []item{{"10", "d1"}, {"20", "d2"}}))
	require.Equal(t, "2 of 12,345 deliveries, up to 20", run.progress())
}

func TestNounCounts(t *testing.T) {
	t.Parallel()

	require.Equal(t, "1 event matches", theEvents.match(1))
	require.Equal(t, "1,000 events match", theEvents.match(1000))
}

// Who ordered what is written down before it is done: the order with its filters,
// and each that it changes. What cannot be written down is not done.
func TestChangesAreRecorded(t *testing.T) {
	t.Parallel()

	w := &world{unrecorded: "d7"}
	var s screen
	a := s.app(console.JSON)
	a.called.flags = "--channel SMS"
	require.ErrorContains(t, a.selected(t.Context(), w.job(bulkFlags{yes: true}), rows(9)), "1 delivery failed")

	require.Equal(t, "--channel SMS", w.recorded[0])
	require.ElementsMatch(t, []string{"d1", "d2", "d3", "d4", "d5", "d6", "d8", "d9"}, w.recorded[1:])
	require.ElementsMatch(t, w.recorded[1:], w.done)

	w = &world{unrecorded: "--channel SMS"}
	require.ErrorContains(t, a.selected(t.Context(), w.job(bulkFlags{}), rows(9)), "no place to record it")
	require.Empty(t, w.done)

	w = &world{}
	require.NoError(t, a.named(t.Context(), w.job(bulkFlags{dryRun: true}), []string{"d1"}))
	require.Empty(t, w.recorded, "a dry run orders nothing")
}
