package rabbitmq_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

func TestInstallation(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	requireInstallation(t, vhost, "")
	require.Empty(t, vhost.Queues(t), "asking marks nothing")

	for _, step := range []struct{ name, want string }{
		{"default/north", "default/north"},
		{"default/north", "default/north"},
		{"default/south", "default/north"},
	} {
		got, err := rabbitmq.MarkInstallation(t.Context(), vhost.URL, step.name)
		require.NoError(t, err)
		require.Equal(t, step.want, got)
		requireInstallation(t, vhost, "default/north")
	}

	mark := vhost.Take(t, rabbitmq.InstallationQueue)
	require.Len(t, mark, 1)
	require.Equal(t, "default/north", string(mark[0].Body))
	require.EqualValues(t, 2, mark[0].DeliveryMode)
	requireInstallation(t, vhost, "") // a queue without a mark
}

// A move ends with the queue.
func TestInstallationAfterAMove(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	_, err := rabbitmq.MarkInstallation(t.Context(), vhost.URL, "default/north")
	require.NoError(t, err)
	_, err = vhost.Dial(t).QueueDelete(rabbitmq.InstallationQueue, false, false, false)
	require.NoError(t, err)

	got, err := rabbitmq.MarkInstallation(t.Context(), vhost.URL, "default/south")

	require.NoError(t, err)
	require.Equal(t, "default/south", got)
}

// Many who come first at the same time, and some who only look, agree on one.
func TestInstallationsAtOnce(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	marked := make([]string, 8)
	errs := make([]error, 12)
	var all sync.WaitGroup
	for i := range marked {
		all.Go(func() {
			marked[i], errs[i] = rabbitmq.MarkInstallation(t.Context(), vhost.URL, "default/"+string(rune('a'+i)))
		})
	}
	for i := len(marked); i < len(errs); i++ {
		all.Go(func() { _, errs[i] = rabbitmq.Installation(t.Context(), vhost.URL) })
	}
	all.Wait()

	for _, err := range errs {
		require.NoError(t, err)
	}
	for _, name := range marked {
		require.Equal(t, marked[0], name)
	}
	mark := vhost.Take(t, rabbitmq.InstallationQueue)
	require.Len(t, mark, 1)
	require.Equal(t, marked[0], string(mark[0].Body))
}

// One that died while it looked leaves the mark, and the way to it, to the others.
func TestInstallationOutlivesACrash(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	_, err := rabbitmq.MarkInstallation(t.Context(), vhost.URL, "default/north")
	require.NoError(t, err)
	conn, err := amqp.Dial(vhost.URL)
	require.NoError(t, err)
	defer conn.Close()
	ch, err := conn.Channel()
	require.NoError(t, err)
	_, err = ch.QueueDeclare(rabbitmq.InstallationQueue+".lock", false, false, true, false, nil)
	require.NoError(t, err)
	_, looking, err := ch.Get(rabbitmq.InstallationQueue, false)
	require.NoError(t, err)
	require.True(t, looking)

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = rabbitmq.Installation(ctx, vhost.URL)
	require.Error(t, err, "it waits for its turn")

	require.NoError(t, conn.Close()) // nothing was returned
	require.Eventually(t, func() bool {
		found, err := rabbitmq.Installation(t.Context(), vhost.URL)
		return err == nil && found == "default/north"
	}, patience, interval)
}

// A broker tells once of another installation, and works on.
func TestBrokerTellsOfAnotherInstallation(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	said := map[string]*lines{"default/north": {}, "default/south": {}}
	for _, name := range []string{"default/north", "default/south"} {
		broker := connectWith(t, rabbitmq.Config{URL: vhost.URL, Logger: slog.New(slog.NewTextHandler(said[name], nil)), Installation: name})
		require.Eventually(t, func() bool {
			found, err := rabbitmq.Installation(t.Context(), vhost.URL)
			return err == nil && found == "default/north"
		}, patience, interval)
		require.NoError(t, broker.Publish(t.Context(), letter("1")))
	}

	require.Eventually(t, func() bool {
		return bytes.Contains(said["default/south"].all(), []byte("the vhost is used by another installation as well"))
	}, patience, interval)
	require.Contains(t, string(said["default/south"].all()), "other=default/north")
	require.NotContains(t, string(said["default/north"].all()), "level=WARN")
}

func TestInstallationWithoutABroker(t *testing.T) {
	t.Parallel()

	_, err := rabbitmq.Installation(t.Context(), "amqp://guest:s3cret@127.0.0.1:1/")
	require.ErrorContains(t, err, "connect: ")
	require.NotContains(t, err.Error(), "s3cret")
}

func requireInstallation(t *testing.T, vhost rabbitmqtest.VirtualHost, want string) {
	t.Helper()
	got, err := rabbitmq.Installation(t.Context(), vhost.URL)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) all() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// What docs/upgrading.md asks for is enough; a broker's user with less still works.
func TestInstallationWithNarrowPermissions(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	connect(t, vhost.URL).Close() // declares the topology
	vhost.Permit(t, "^notification", "^notification", "^notification")
	var said lines
	broker := connectWith(t, rabbitmq.Config{URL: vhost.URL, Logger: slog.New(slog.NewTextHandler(&said, nil)), Installation: "default/north"})
	require.Eventually(t, func() bool { return bytes.Contains(said.all(), []byte("the vhost is not marked")) }, patience, interval)
	require.NoError(t, broker.Publish(t.Context(), letter("1")))

	const marking = `^herald\.installation(\.lock)?$`
	vhost.Permit(t, marking, `^(herald\.installation(\.lock)?|amq\.default)$`, marking)
	require.Eventually(t, func() bool { // the broker remembers permissions for a moment
		got, err := rabbitmq.MarkInstallation(t.Context(), vhost.URL, "default/north")
		return err == nil && got == "default/north"
	}, patience, interval)
}
