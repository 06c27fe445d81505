package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
)

// RabbitMQ loses a vhost with all queues. The worker creates its queues again, and the commands of
// docs/disaster.md publish again what the queues had. Nobody is notified again.
func TestQueuesAreLost(t *testing.T) {
	t.Parallel()

	const events = 5
	node := rabbitmqtest.Shared(t)
	vhost, on := node.VHost(t), shared(t)
	on.rabbitURL = vhost.URL
	u := &upgrade{system: newSystemOn(t, on)}
	u.customers(1)
	u.route("NEWS", notification.Email)
	w := u.startAll("--events", "--channels", "email")
	u.burst("-before", "NEWS", events)
	u.awaitCount(events, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)

	node.Do(t, http.MethodDelete, "/api/vhosts/"+vhost.Name, nil)
	node.Do(t, http.MethodPut, "/api/vhosts/"+vhost.Name, nil)
	u.eventually(func() bool { return w.ready() == http.StatusOK && len(vhost.Queues(t)) > 0 }, "the worker does not create its queues")
	u.burst("-after", "NEWS", 1)
	u.awaitCount(events+1, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)

	const document = "docs/disaster.md"
	require.Contains(t, must(u.documentedIn(document, "starter event publish --since 2h --dry-run"))(t), "6")
	u.fails(2, "repeat with --yes", "event", "publish", "--since", "2h")
	u.fails(2, "name the age of the oldest event", "event", "publish")
	must(u.documentedIn(document, "starter event publish --since 2h --yes"))(t)
	published := map[string]int{}
	for _, message := range u.take("notification.customer") {
		published[message.MessageId]++
	}
	require.Len(t, published, events+1)
	require.Equal(t, 2, published[u.name+"-after-1"], "its message, and the same again")
	u.sentOnce(events + 1)
	require.NoError(t, w.stop(), "%s", w.output)
}
