package mcp_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/mcp"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/workflows"
)

// newChangingDesk returns a desk whose server may change something, the clock of its tokens, and Temporal.
func newChangingDesk(t *testing.T) (*desk, *atomic.Int64, client.Client) {
	t.Helper()
	options, err := config.Temporal(env.ToMap(os.Environ()))
	require.NoError(t, err)
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	temporal, err := client.DialContext(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	launcher := &launch.Launcher{Client: temporal, Namespace: options.Namespace, Prefix: "test"}
	clock := new(atomic.Int64)
	clock.Store(time.Now().Unix())
	return newDesk(t, func(store *db.DB) *mcp.Changes {
		return &mcp.Changes{
			Actor: "ada", Forms: operate.Forms{Key: []byte("key")},
			Operator: func(order operate.Order) *operate.Operator {
				return &operate.Operator{Order: order, DB: store, Launcher: launcher}
			},
			Now: func() time.Time { return time.Unix(clock.Load(), 0) },
		}
	}), clock, temporal
}

// A change needs its plan, its token and a reason. It is made once, and recorded.
func TestChange(t *testing.T) {
	t.Parallel()

	d, _, _ := newChangingDesk(t)
	id := "evt-" + rand.Text()
	postgrestest.Add(t, d.store.Pool, postgrestest.Event{ID: id, Status: notification.OutboxFailed})
	plan := ask[mcp.Outcome](d, "plan_change", mcp.PlanRequest{Change: "event retry", ID: id})
	require.True(t, plan.Done, plan.Result)
	require.NotEmpty(t, plan.Token)
	require.Empty(t, postgrestest.List(t, d.store, "SELECT actor FROM operator_action"))

	d.refused(mcp.ConfirmRequest{Token: plan.Token}, "give a reason")
	d.refused(mcp.ConfirmRequest{Token: plan.Token, Reason: "two\nlines"}, "one line")
	done := ask[mcp.Outcome](d, "confirm_change", mcp.ConfirmRequest{Token: plan.Token, Reason: "a customer asked"})
	require.True(t, done.Done, done.Result)
	require.Equal(t, []string{"ada|event retry|" + id + "|--mcp --reason a customer asked"},
		postgrestest.List(t, d.store, "SELECT actor || '|' || command || '|' || target || '|' || detail FROM operator_action"))
	d.refused(mcp.ConfirmRequest{Token: plan.Token, Reason: "again"}, "the plan has changed")
}

// A token works once, even if its plan stays the same.
func TestTokenIsUsedOnce(t *testing.T) {
	t.Parallel()

	d, _, temporal := newChangingDesk(t)
	id, at := "d-"+rand.Text(), time.Now().Add(time.Hour).Truncate(time.Second)
	postgrestest.Add(t, d.store.Pool, postgrestest.Event{}, postgrestest.Delivery{ID: id, Status: notification.Pending})
	options := client.StartWorkflowOptions{ID: id, TaskQueue: "no-worker"}
	_, err := temporal.ExecuteWorkflow(t.Context(), options, workflows.DeliverNotificationType)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, temporal.TerminateWorkflow(context.Background(), id, "", "the test has ended"))
	})
	in := mcp.PlanRequest{Change: "delivery reschedule", ID: id, At: &at}
	plan := ask[mcp.Outcome](d, "plan_change", in)
	confirmed := mcp.ConfirmRequest{Token: plan.Token, Reason: "a customer asked"}
	done := ask[mcp.Outcome](d, "confirm_change", confirmed)
	require.True(t, done.Done, done.Result)

	again := ask[mcp.Outcome](d, "plan_change", in)
	again.Token = plan.Token
	require.Equal(t, plan, again, "the plan stays the same")
	d.refused(confirmed, "used before")
	require.Equal(t, []string{id}, postgrestest.List(t, d.store, "SELECT target FROM operator_action"))
}

// refused confirms a plan that must not change anything.
func (d *desk) refused(in mcp.ConfirmRequest, text string) {
	d.t.Helper()
	result, written := d.call("confirm_change", in)
	require.True(d.t, result.IsError, written)
	require.Contains(d.t, written, text)
}

// A token that is old, forged or of another plan changes nothing.
func TestTokens(t *testing.T) {
	t.Parallel()

	d, clock, _ := newChangingDesk(t)
	id := "evt-" + rand.Text()
	postgrestest.Add(t, d.store.Pool, postgrestest.Event{ID: id, Status: notification.OutboxFailed},
		postgrestest.Event{ID: id + "-2", Status: notification.OutboxFailed})
	token := ask[mcp.Outcome](d, "plan_change", mcp.PlanRequest{Change: "event retry", ID: id}).Token
	written, form, _ := strings.Cut(token, "~")
	other := base64.RawURLEncoding.EncodeToString([]byte(`{"change":"event retry","id":"` + id + `-2"}`))
	approve := base64.RawURLEncoding.EncodeToString([]byte(`{"change":"event approve","id":"` + id + `"}`))
	for _, forged := range []string{"", "~", written, written + "~x" + form, other + "~" + form, "%%~" + form} {
		d.refused(mcp.ConfirmRequest{Token: forged, Reason: "why"}, "nothing was changed")
	}
	d.refused(mcp.ConfirmRequest{Token: approve + "~" + form, Reason: "why"}, "no such change")
	clock.Add(int64(operate.FormLife/time.Second) + 1)
	d.refused(mcp.ConfirmRequest{Token: token, Reason: "why"}, "nothing was changed")
	clock.Add(-int64(operate.FormLife/time.Second) - 1)
	postgrestest.Exec(t, d.store, `UPDATE event_outbox SET status = 'PENDING' WHERE event_id = $1`, id)
	d.refused(mcp.ConfirmRequest{Token: token, Reason: "why"}, "the plan has changed")
	require.Empty(t, postgrestest.List(t, d.store, "SELECT actor FROM operator_action"))

	for _, wrong := range []mcp.PlanRequest{
		{Change: "event approve", ID: id}, {Change: "event reject", ID: id}, {Change: "event retry"},
		{Change: "delivery reschedule", ID: "d"}, {Change: "event retry", ID: id, Again: true},
	} {
		result, text := d.call("plan_change", wrong)
		require.True(t, result.IsError, text)
	}
}
