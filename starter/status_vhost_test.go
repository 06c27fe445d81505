package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

func TestStatusOfTheVhost(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	corner := rabbitmqtest.Shared(t).VHost(t)
	c.environment["RABBITMQ_URL"] = corner.URL
	c.environment["TEMPORAL_NAMESPACE"], c.environment["TASK_QUEUE_PREFIX"] = "night", "south"

	requireVhost(t, c, vhostView{})
	require.Empty(t, corner.Queues(t), "looking marks nothing")

	_, err := rabbitmq.MarkInstallation(t.Context(), corner.URL, "night/north")
	require.NoError(t, err)
	said := requireVhost(t, c, vhostView{Installation: "night/north"})
	require.Contains(t, said, "warning: the vhost of RABBITMQ_URL is used by the installation night/north as well as by this one, night/south")
	require.Contains(t, said, "next: give each a vhost of its own; where Herald has moved, delete the queue herald.installation")

	c.environment["TASK_QUEUE_PREFIX"] = "north"
	require.NotContains(t, requireVhost(t, c, vhostView{Installation: "night/north"}), "vhost")
	require.NotContains(t, c.must(t, "status"), "vhost")
}

func TestStatusWithoutABroker(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ url, want string }{
		"not set":      {"", "not checked: RABBITMQ_URL is not set"},
		"away":         {"amqp://guest:s3cret@" + unreachable + "/", "not checked: RabbitMQ: connect: dial tcp " + unreachable},
		"not a URL":    {"amqp://guest:s3cret@h:port/", "not checked: settings: RABBITMQ_URL must be a URL such as"},
		"in the clear": {"amqp://guest:s3cret@mq/", "not checked: settings: RABBITMQ_URL is another host's and not encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := withDatabase(t)
			c.environment["RABBITMQ_URL"] = tt.url

			got := c.run(t, "status")

			require.Equal(t, succeeded, got.code)
			require.Regexp(t, "vhost +"+tt.want, got.out)
			require.NotContains(t, got.out+got.err, "s3cret")
		})
	}
}

// requireVhost returns what status says beside its result.
func requireVhost(t *testing.T, c terminal, want vhostView) string {
	t.Helper()
	got := c.run(t, "status", "-o", "json")
	require.Equal(t, succeeded, got.code, got.err)
	var view statusView
	require.NoError(t, json.Unmarshal([]byte(got.out), &view))
	require.Equal(t, want, view.Vhost)
	return got.err
}
