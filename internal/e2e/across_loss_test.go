package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/stacktest"
)

// Temporal loses its database under load, later it is back from an older backup, and then it loses its
// database again. The commands of docs/disaster.md, and at last a worker by itself, start again what was
// open, and nothing else: no message is lost, what an operator cancelled stays cancelled, an event that
// waits for an approval still waits, and a paused poller stays paused.
func TestTemporalLosesItsDatabase(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Run(t, "up", "temporal")
	u, w := newUpgrade(t, servers{postgrestest.URL(t), rabbitmqtest.VHost(t), stack.Settings(t)["TEMPORAL_ADDRESS"]})
	stopLoad := u.underLoad()
	u.addSmall()
	cancelled := u.emit(u.name+"-cancelled", "WAIT", "CUSTOMER/1", "{}")
	u.cancelled = append(u.cancelled, cancelled)
	delivery := notification.DeliveryID(cancelled, "customer", "1", notification.Push)
	u.awaitDelivery(delivery, "PENDING")
	promotion := u.awaitsApproval()
	u.starter("poller", "pause", "--source", "orders")
	data, backup := filepath.Join(stack.Dev, "temporal"), filepath.Join(t.TempDir(), "backup")
	stack.Run(t, "down", "temporal")
	require.NoError(t, os.CopyFS(backup, os.DirFS(data)))
	stack.Run(t, "up", "temporal")
	u.starter("delivery", "cancel", delivery)

	stack.Run(t, "kill", "temporal")
	require.NoError(t, os.RemoveAll(data))
	stack.Run(t, "up", "temporal")
	u.eventually(func() bool { return w.ready() == http.StatusServiceUnavailable }, "the worker does not notice")
	u.eventually(func() bool { return strings.Contains(w.metrics(), "herald_pollers_lost 2") }, "the metric does not show it")
	require.Contains(t, u.starter("status"), "may have lost its database")
	said, err := u.documentedIn("docs/disaster.md", "starter restore --dry-run")
	require.Error(t, err)
	require.Contains(t, said, "workflows are missing in Temporal")
	must(u.documentedIn("docs/disaster.md", "starter restore\n"))(t)
	require.Contains(t, u.starter("restore", "--rate", "500"), "0 workflows of events and deliveries", "a second restore starts nothing")
	u.eventually(func() bool { return w.ready() == http.StatusOK }, "the worker is not ready again")
	require.Contains(t, u.starter("poller", "status", "--source", "orders"), "PAUSED")
	require.NotContains(t, must(u.documentedIn("docs/disaster.md", "starter status"))(t), "may have lost its database")
	require.Equal(t, 1, u.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'AWAITING_APPROVAL'`, promotion))
	require.Zero(t, u.count(`SELECT count(*) FROM notification WHERE event_id = $1`, promotion))
	u.starter("event", "approve", promotion, "--reason", "seen")
	u.awaitDelivery(notification.DeliveryID(promotion, "customer", "1", notification.Push), "SENT")
	u.awaitSome(20, `SELECT count(*) FROM notification WHERE event_type = 'LOAD' AND status = 'SENT'`)

	stack.Run(t, "kill", "temporal")
	require.NoError(t, os.RemoveAll(data))
	require.NoError(t, os.CopyFS(data, os.DirFS(backup)))
	stack.Run(t, "up", "temporal")
	t.Log(u.starter("restore", "--rate", "500"))
	u.starter("poller", "resume", "--source", "orders")

	require.NoError(t, w.stop(), "%s", w.output)
	w = u.with("RESTORE=auto").startWorker()
	stack.Run(t, "kill", "temporal")
	require.NoError(t, os.RemoveAll(data))
	stack.Run(t, "up", "temporal")
	u.eventually(func() bool { return strings.Contains(w.output.String(), "RESTORE=auto: restored") }, "the worker does not restore")
	stopLoad()
	u.ends(slots)
	require.LessOrEqual(t, len(u.messages())-len(u.accepted()),
		u.count(`SELECT count(*) FROM delivery_attempt WHERE outcome IN ('LOST', 'AMBIGUOUS')`), "repeats without an interrupted attempt")
	require.NoError(t, w.stop(), "%s", w.output)
}

// awaitsApproval writes an event that waits for an approval, and returns its id.
func (u *upgrade) awaitsApproval() string {
	u.t.Helper()
	u.fill(postgrestest.Approval{EventType: "PROMOTION"}, postgrestest.Route{EventType: "PROMOTION", Channel: notification.Push})
	id := u.name + "-promotion"
	u.fill(postgrestest.Event{ID: id, Type: "PROMOTION", AggregateType: "CUSTOMER", AggregateID: "1"}) // the actor of `starter emit` could not approve it
	u.events = append(u.events, id)
	u.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'AWAITING_APPROVAL'`, id)
	return id
}
