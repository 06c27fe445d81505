package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// world is an operator and a verb without Temporal. Every change succeeds, except for the ids in
// errs and refused.
type world struct {
	*Operator
	errs    map[string]error
	refused map[string]Code
	onDo    func(ctx context.Context, id string)

	mu   sync.Mutex
	done []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{Operator: &Operator{Order: Order{Actor: "ada", Command: "delivery change", Flags: "--channel SMS"}, DB: postgrestest.New(t)}}
}

func (w *world) verb() Verb {
	return Verb{Name: "change", Noun: Deliveries, plan: func(_ *Operator, _ context.Context, id string) (plan, error) {
		if why := w.refused[id]; why != 0 {
			return refusal(Outcome{ID: id, Code: why}), nil
		}
		return plan{Outcome{ID: id, Code: WouldBeCancelled}, func(ctx context.Context) (Outcome, error) { return w.do(ctx, id) }}, nil
	}}
}

func (w *world) do(ctx context.Context, id string) (Outcome, error) {
	if w.onDo != nil {
		w.onDo(ctx, id)
	}
	if err := w.errs[id]; err != nil {
		return Outcome{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, id)
	return Outcome{ID: id, Code: Cancelled}, nil
}

// rows selects d1 to dn. The key of a row is ten times its number.
func rows(n int) Selection {
	return Selection{Matched: n, page: func(_ context.Context, after string, limit int) ([]item, error) {
		behind, err := DeliveryNumber(after)
		var items []item
		for i := int(behind)/10 + 1; i <= n && len(items) < limit; i++ {
			items = append(items, item{strconv.Itoa(i * 10), fmt.Sprintf("d%d", i)})
		}
		return items, err
	}}
}

func TestDo(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.refused = map[string]Code{"d7": WasSent, "d8": WasSent, "d9": IsUnderWay}
	w.errs = map[string]error{}
	for i := 20; i < 35; i++ {
		w.errs[fmt.Sprintf("d%d", i)] = errors.New("connection reset")
	}
	var tried int
	var through string

	got, err := w.Do(t.Context(), w.verb(), rows(700), func(s Summary) { tried, through = s.Tried(), s.Through })

	require.NoError(t, err, "a failure of one item does not stop the others")
	require.Len(t, w.done, 700-3-15)
	require.Len(t, got.Errors, maxErrors)
	require.Contains(t, got.Errors[0], "connection reset")
	got.Errors = nil
	require.Equal(t, Summary{
		Matched: 700, Done: 700 - 3 - 15, Skipped: Skips{WasSent: 2, IsUnderWay: 1}, Failed: 15, Through: "7000",
	}, got)
	require.Equal(t, 700, tried)
	require.Equal(t, "7000", through)
}

func TestDryRun(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.refused = map[string]Code{"d2": WasSent}

	got := must(w.DryRun(t.Context(), w.verb(), rows(1234)))(t)

	require.Empty(t, w.done)
	require.Len(t, got.Items, previewed)
	require.Equal(t, Outcome{ID: "d1", Code: WouldBeCancelled}, got.Items[0])
	require.Equal(t, Outcome{ID: "d2", Code: WasSent}, got.Items[1])
	require.Equal(t, 1234, got.Matched)
	require.Empty(t, w.recorded(t), "a dry run records nothing")
}

// An interrupted run returns how far it came, and another run continues there. Together, the two
// runs change every item.
func TestDoResumes(t *testing.T) {
	t.Parallel()

	ctx, interrupt := context.WithCancel(t.Context())
	w := newWorld(t)
	w.onDo = func(_ context.Context, id string) {
		if id == "d600" {
			interrupt()
		}
	}
	got, err := w.Do(ctx, w.verb(), rows(800), nil)
	require.ErrorIs(t, err, context.Canceled)
	through := must(DeliveryNumber(got.Through))(t)
	require.GreaterOrEqual(t, through, int64(bulkPage*10), "the previous page is done")
	require.Less(t, through, int64(8000))

	w.onDo = nil
	rest := rows(800)
	rest.After = got.Through
	must(w.Do(t.Context(), w.verb(), rest, nil))(t)
	slices.Sort(w.done)
	require.Len(t, slices.Compact(w.done), 800)
}

// A run stops early when a server is out of reach.
func TestDoStops(t *testing.T) {
	t.Parallel()

	for _, down := range []error{
		serviceerror.NewUnavailable("no connection"),
		serviceerror.NewDeadlineExceeded("late"), // Temporal's client returns it after it retried Unavailable until the timeout
		context.DeadlineExceeded,
	} {
		t.Run(fmt.Sprintf("%T", down), func(t *testing.T) {
			t.Parallel()

			w := newWorld(t)
			w.errs = map[string]error{"d42": fmt.Errorf("retry d42: %w", down)}
			w.onDo = func(ctx context.Context, id string) {
				if len(id) > len("d99") { // wait until the run stops
					<-ctx.Done()
				}
			}

			got, err := w.Do(t.Context(), w.verb(), rows(1000), nil)

			require.ErrorIs(t, err, down)
			require.Less(t, len(w.done), 100+bulkAtOnce)
			require.Zero(t, got.Failed, "the error concerns all deliveries")
		})
	}
}

func TestDoToNamed(t *testing.T) {
	t.Parallel()

	gone := errors.New("no such delivery")
	changed := Outcome{ID: "a", Code: Cancelled}
	refused := Outcome{ID: "sent", Code: WasSent}
	failed := Outcome{ID: "gone", Code: Failed, Err: gone}
	tests := []struct {
		name   string
		ids    []string
		dryRun bool
		want   []Outcome
	}{
		{name: "one", ids: []string{"a"}, want: []Outcome{changed}},
		{name: "the same id twice", ids: []string{"a", "a"}, want: []Outcome{changed}},
		{name: "several ids, in their order", ids: []string{"gone", "a", "sent"}, want: []Outcome{failed, changed, refused}},
		{name: "a dry run", ids: []string{"a", "sent"}, dryRun: true, want: []Outcome{{ID: "a", Code: WouldBeCancelled}, refused}},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.refused, w.errs = map[string]Code{"sent": WasSent}, map[string]error{"gone": gone}

		var got Summary
		var err error
		if tt.dryRun {
			got, err = w.DryRun(t.Context(), w.verb(), SelectIDs(tt.ids))
		} else {
			got, err = w.Do(t.Context(), w.verb(), SelectIDs(tt.ids), nil)
		}

		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got.Items, tt.name)
		require.Equal(t, len(tt.want), got.Matched, tt.name)
		require.Equal(t, tt.dryRun, len(w.done) == 0, tt.name)
	}
}

// action is a row of operator_action.
type action struct{ Actor, Command, Target, Detail string }

func (w *world) recorded(t *testing.T) []action {
	t.Helper()
	rows := must(w.DB.Pool.Query(t.Context(), "SELECT actor, command, target, detail FROM operator_action ORDER BY id"))(t)
	return must(pgx.CollectRows(rows, pgx.RowToStructByPos[action]))(t)
}

// Herald records an action before it is done: the order with its filters, and each changed item. If
// it cannot record the action, it does nothing.
func TestChangesAreRecorded(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.refused = map[string]Code{"d2": WasSent}
	must(w.DB.Pool.Exec(t.Context(), "ALTER TABLE operator_action ADD CONSTRAINT nobody CHECK (target <> 'd3')"))(t)

	require.Equal(t, 1, must(w.Do(t.Context(), w.verb(), rows(4), nil))(t).Failed)
	require.ElementsMatch(t, []string{"d1", "d4"}, w.done)
	require.ElementsMatch(t, []action{
		{Actor: "ada", Command: "delivery change", Target: "--channel SMS", Detail: "matched 4 deliveries"},
		{Actor: "ada", Command: "delivery change", Target: "d1", Detail: "--channel SMS"},
		{Actor: "ada", Command: "delivery change", Target: "d4", Detail: "--channel SMS"},
		{Actor: "ada", Command: "delivery change", Target: "--channel SMS", Detail: "changed 2 of 4 deliveries"},
	}, w.recorded(t))

	w.done, w.Order.Flags = nil, "d3" // now the record of the order itself fails
	_, err := w.Do(t.Context(), w.verb(), rows(4), nil)
	require.ErrorContains(t, err, "record who does it")
	require.Empty(t, w.done)
}

// A delivery in a batch has no workflow that takes signals, and a retry would send it twice. Each
// verb names the batch, and the verb that is possible.
func TestVerbsRefuseADeliveryInABatch(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	number := postgrestest.Get[int64](t, d.DB, "SELECT id FROM notification")
	for name, verb := range map[string]Verb{
		"send-now": SendNow(), "reschedule": must(Reschedule(time.Now().Add(time.Hour), time.Now()))(t), "retry": RetryDelivery(false, 0),
		"retry again": RetryDelivery(true, 0),
	} {
		d.reset(notification.Pending)
		d.batch(notification.IDRange{First: number, Last: number + 499})

		got := d.run(verb, "d1")

		require.False(t, got.Done(), name)
		require.Equal(t, "is being sent in a batch: by the workflow evt-1-batch-EMAIL-2, as soon as it can be", got.String(), name)
		require.Contains(t, got.Next(), "`starter delivery cancel d1`", name)
	}

	d.reset(notification.Pending)
	d.batch(notification.IDRange{First: number + 1, Last: number + 500})
	require.Contains(t, d.run(SendNow(), "d1").String(), "no running workflow", "the batch has other deliveries")
}

// A delivery in a batch is cancelled in its row. If its provider may have it already, the answer
// says so.
func TestCancelADeliveryInABatch(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for name, tt := range map[string]struct {
		sql  string
		says bool
	}{
		"not begun": {sql: "SELECT 1"},
		"under way": {sql: "UPDATE notification SET attempt_count = 1, attempt_owner = 'a batch', attempt_began = now(), attempt_until = now() " +
			"+ interval '1 minute'",
			says: true},
		"failed once": {sql: "UPDATE notification SET attempt_count = 1, attempt_owner = NULL, attempt_began = NULL, attempt_until = NULL"},
	} {
		d.reset(notification.Pending)
		d.exec(tt.sql)
		d.workflow("d1", unknown)

		got := d.run(CancelDelivery(), "d1")

		require.Equal(t, "cancelled", got.Code.Result(), name)
		require.Equal(t, tt.says, strings.Contains(got.Detail(), "an attempt is under way"), "%s: %s", name, got.Detail())
	}
}
