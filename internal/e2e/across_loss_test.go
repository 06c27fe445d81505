package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/stacktest"
)

// Temporal loses its database under load. `starter restore` starts again what was open, and nothing else:
// no message is lost, what an operator cancelled stays cancelled, and a paused poller stays paused.
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
	u.starter("delivery", "cancel", delivery)
	u.starter("poller", "pause", "--source", "orders")

	stack.Run(t, "kill", "temporal")
	stack.Run(t, "destroy", "temporal")
	stack.Run(t, "up", "temporal")

	u.fails(1, "Temporal lacks workflows", "restore", "--dry-run")
	t.Log(u.starter("restore", "--rate", "500"))
	require.Contains(t, u.starter("restore", "--rate", "500"), "0 workflows of events and deliveries", "a second restore starts nothing")
	require.Contains(t, u.starter("poller", "status", "--source", "orders"), "PAUSED")
	u.starter("poller", "resume", "--source", "orders")
	stopLoad()
	u.ends(slots)
	require.LessOrEqual(t, len(u.messages())-len(u.accepted()),
		u.count(`SELECT count(*) FROM delivery_attempt WHERE outcome IN ('LOST', 'AMBIGUOUS')`), "repeats without an interrupted attempt")
	require.NoError(t, w.stop(), fmt.Sprint(w.output))
}
