package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"herald/internal/advice"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// A command changes more than 100 rows only with --yes.
func TestLargeChangeNeedsYes(t *testing.T) {
	t.Parallel()

	err := verbRun{Output: &newScreen().Output, verb: operate.CancelDelivery(), to: operate.Selection{Matched: 101}}.do(t.Context())

	require.ErrorAs(t, err, new(*usageError))
	require.ErrorContains(t, err, "nothing changed: 101 deliveries match; to cancel more than 100 at once, add --yes")
}

func TestCounts(t *testing.T) {
	t.Parallel()

	require.Equal(t, "1 event matches", matchText(operate.Events, 1))
	require.Equal(t, "1,000 events match", matchText(operate.Events, 1000))
	cancel := verbRun{verb: operate.CancelDelivery()}
	require.Equal(t, "2 of 12,345 deliveries, up to 20", cancel.progress(operate.Summary{Matched: 12345, Done: 2, Through: "20"}))
}

// screen is the output of a command.
type screen struct {
	terminal.Output
	out bytes.Buffer
}

func newScreen() *screen {
	s := &screen{}
	s.Output = terminal.Output{Out: &s.out, Err: io.Discard, Format: terminal.Table}
	return s
}

func TestReport(t *testing.T) {
	t.Parallel()

	gone := advice.With(errors.New("d9: no such delivery"), "check the id")
	changed := operate.Outcome{ID: "a", Code: operate.SendingNow}
	refused := operate.Outcome{ID: "sent", Code: operate.HasFailed, Args: operate.Args{Error: "why"}}
	unknown := operate.Outcome{ID: "d9", Code: operate.Failed, Err: gone}
	down := errors.New("no connection")
	many := operate.Summary{Matched: 1234, Done: 1230, Skipped: operate.Skips{operate.WasSent: 3, operate.WasSentOnce: 1}, Through: "12340"}
	failed := operate.Summary{Matched: 3, Done: 1, Failed: 2, Errors: []string{"d1: connection reset"}}
	preview := operate.Summary{Matched: 1234, DryRun: true, Items: []operate.Outcome{changed}}
	tests := []struct {
		name       string
		verb       operate.Verb
		named      bool
		summary    operate.Summary
		err        error
		out        string
		want, next string // of the error; empty if there is no error
	}{
		{name: "named and done", named: true, summary: operate.Summary{Matched: 1, Done: 1, Items: []operate.Outcome{changed}},
			out: "a  sending now  \n"},
		{name: "named and refused", named: true, summary: operate.Summary{Matched: 1, Items: []operate.Outcome{refused}},
			want: "sent has failed: why", next: "correct the cause"},
		{name: "named and unknown", named: true, summary: operate.Summary{Matched: 1, Items: []operate.Outcome{unknown}},
			want: "d9: no such delivery", next: "check the id"},
		{name: "some of the named", named: true,
			summary: operate.Summary{Matched: 3, Done: 1, Items: []operate.Outcome{unknown, changed, refused}},
			out:     "d9    error        d9: no such delivery\na     sending now  \nsent  has failed   why\n",
			want:    "2 of 3 deliveries: not done", next: "check the id"},
		{name: "named and stopped", named: true, summary: operate.Summary{Matched: 2, Items: []operate.Outcome{}}, err: down,
			want: "stopped after 0 of 2 deliveries: no connection"},
		{name: "many", summary: many, out: "matched  1,234\ndone     1,230\nskipped  4  was sent\nfailed   0\n"},
		{name: "many, some failed", summary: failed, out: "d1: connection reset", want: "2 deliveries failed",
			next: "run it again: finished ids do not change twice"},
		{name: "many that would be repeated", verb: operate.RetryDelivery(true, 0), summary: failed, want: "2 deliveries failed",
			next: "name only the failed ids"},
		{name: "many, stopped", summary: many, err: down, want: "stopped after 1,234 of 1,234 deliveries, up to 12340: no connection",
			next: "run it again with --after 12340"},
		{name: "a dry run", summary: preview, out: "a  sending now  \n… and 1,233 more\nnothing was changed\n"},
		{name: "a dry run that fails", summary: preview, err: down, want: "no connection"},
	}
	for _, tt := range tests {
		s := newScreen()
		if tt.verb.Name == "" {
			tt.verb = operate.CancelDelivery()
		}

		err := verbRun{Output: &s.Output, verb: tt.verb, to: operate.Selection{Named: tt.named}}.report(tt.summary, tt.err)

		require.Contains(t, s.out.String(), tt.out, tt.name)
		if tt.want == "" {
			require.NoError(t, err, tt.name)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.name)
		require.Contains(t, nextStep(err), tt.next, tt.name)
	}
}

// The help of event retry says which failed deliveries it does not retry: best-effort deliveries
// have completed workflows, so they are not started again.
func TestRetryEventPromises(t *testing.T) {
	t.Parallel()

	help := shell{}.must(t, "event", "retry", "--help")
	require.Contains(t, strings.Join(strings.Fields(help), " "),
		"Failed deliveries are retried, except WEBSOCKET, SLACK, which get one attempt: `starter delivery retry` retries them.")
}

// parsedFilter parses the flags of a command line into a filter.
func parsedFilter(args ...string) (filter list.DeliveryFilter, err error) {
	cmd := &cobra.Command{Use: "x"}
	filterFlags(&app{}, cmd, &filter)
	err = errors.Join(cmd.ParseFlags(args), terminal.FlagErrors(cmd.Flags()), checkTimes(filter))
	return filter, err
}

func TestDeliveryFilter(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		args []string
		want list.DeliveryFilter
	}{
		{name: "none"},
		{name: "comma, repeated and any case", args: []string{"--status", "failed,Sent", "--status=PENDING,sent"},
			want: list.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Sent, notification.Pending}}},
		{name: "channels", args: []string{"--channel", "sms, email"},
			want: list.DeliveryFilter{Channels: []notification.Channel{notification.SMS, notification.Email}}},
		{name: "type, by its other flag", args: []string{"--type", "T"}, want: list.DeliveryFilter{EventType: "T"}},
		{name: "event", args: []string{"--event", "evt,1", "--event-type", "T"}, want: list.DeliveryFilter{EventID: "evt,1", EventType: "T"}},
		{name: "recipient", args: []string{"--recipient", "restaurant_user/a/B"},
			want: list.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "a/B"}},
		{name: "group and correlation", args: []string{"--entity", "RESTAURANT/5", "--correlation-id", "c-1"},
			want: list.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, CorrelationID: "c-1"}},
		{name: "times", args: []string{"--since", "2025-11-21T08:00:00Z", "--until", "2025-11-21T09:00:00Z"}, want: list.DeliveryFilter{
			Since: time.Date(2025, 11, 21, 8, 0, 0, 0, time.UTC), Until: time.Date(2025, 11, 21, 9, 0, 0, 0, time.UTC)}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, must(parsedFilter(tt.args...))(t), tt.name)
	}
}
