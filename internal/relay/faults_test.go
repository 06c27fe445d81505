package relay_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/relay"
	"herald/internal/stacktest"
	"herald/tools/link"
)

// linked is a process that reaches the two databases over links.
func (s *service) linked(t *testing.T) (walk *relay.Mover, business, herald *link.Link) {
	t.Helper()
	over := *s
	business, over.source.DatabaseURL = stacktest.LinkTo(t, s.source.DatabaseURL)
	herald, url := stacktest.LinkTo(t, s.herald.Pool.Config().ConnString())
	store, err := db.Open(t.Context(), url, "herald")
	require.NoError(t, err)
	t.Cleanup(store.Close)
	over.herald = store
	return over.walk(t), business, herald
}

// mortal is a broker whose process dies: before the first records are produced, or after their
// acknowledgement. It may restart.
type mortal struct {
	relay.Topics
	produces, lives bool
	die             func()
	once            sync.Once
}

func (m *mortal) ProduceAll(ctx context.Context, records []relay.Record) []error {
	first := false
	m.once.Do(func() { first = true })
	errs := slices.Repeat([]error{&relay.UnavailableError{Err: errors.New("dead")}}, len(records))
	if first && m.produces || !first && m.lives {
		errs = m.Topics.ProduceAll(ctx, records)
	}
	if first {
		m.die()
	}
	return errs
}

// A process dies between two steps of a page. The next process repeats only that page. Nobody is
// notified twice, no row is lost, and the order stays.
func TestWalkAfterADeath(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		route   *relay.KafkaRoute
		mortal  *mortal
		repeats int
	}{
		{"between adopting and producing", toTopics, &mortal{}, 0},
		{"between acknowledgement and mark", toTopics, &mortal{produces: true}, 20},
		{"between adopting and mark", nil, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			source := orders()
			source.People, source.Kafka = true, tt.route
			s := newService(t, source, "orders-out")
			s.many(t, 1, 100, 7, "orders-out")
			walk, business, herald := s.linked(t)
			die := func() {
				business.Cut()
				herald.Cut()
			}
			if tt.mortal == nil {
				walk.Adopted = die
			} else {
				tt.mortal.Topics, tt.mortal.die = walk.Topics, die
				walk.Topics = tt.mortal
			}
			start(t, walk)
			require.Eventually(t, func() bool { return count(t, s.herald, "event_outbox") >= 20 }, patience, time.Millisecond)
			s.poll(t)
			s.await(t, 100, "status = 'SENT'")
			require.Equal(t, 100, count(t, s.herald, "event_outbox"))
			require.Zero(t, count(t, s.herald, "source_row"))
			if tt.route != nil {
				require.Equal(t, tt.repeats, s.requireOrder(t, "orders-out", 1, 100, 7))
			}
		})
	}
}

// While a database is unreachable, the relay waits with an acknowledged page. No row is lost or out of
// order, and each person is notified once. The relay repeats at most the page that was in flight.
func TestWalkWhileADatabaseIsAway(t *testing.T) {
	t.Parallel()

	source := orders()
	source.People = true
	s := newService(t, source, "orders-out")
	for n, of := range []string{"the service's", "Herald's"} {
		walk, link, herald := s.linked(t)
		if n == 1 {
			link = herald
		}
		cut := make(chan struct{})
		walk.Topics = &mortal{Topics: walk.Topics, produces: true, lives: true, die: func() {
			link.Cut()
			close(cut)
		}}
		s.many(t, 200*n+1, 200*n+100, 7, "orders-out")
		p := start(t, walk)
		<-cut
		s.many(t, 200*n+101, 200*n+200, 7, "orders-out")
		link.Mend()
		s.await(t, 200*n+200, "status = 'SENT'")
		p.stop(t)
		require.Equal(t, 200*n+200, count(t, s.herald, "event_outbox"), of)
		require.LessOrEqual(t, s.requireOrder(t, "orders-out", 1, 200*n+200, 7), 20*(n+1), of)
	}
	require.Zero(t, count(t, s.herald, "source_row"))
}

// waker ends back-offs when the test allows it, and signals when it has.
type waker struct {
	relay.Memory
	may  chan struct{}
	tell func()
}

func (w waker) EndBackOffs(ctx context.Context, source string, topics []string) error {
	<-w.may
	defer w.tell()
	return w.Memory.EndBackOffs(ctx, source, topics)
}

// A poller without rows for a topic does not end its back-off while another poller's rows wait.
// Operators see the back-off until these rows are sent.
func TestWalkKeepsTheRestOfAnotherPoller(t *testing.T) {
	t.Parallel()

	source := orders()
	source.Pollers = 2
	s := newService(t, source, "orders-out")
	s.poll(t)
	s.many(t, 1, 16, 16, "orders-out")
	require.Eventually(t, func() bool { return s.rows(t, "status = 'SENT'") > 0 }, patience, 5*time.Millisecond)
	exec(t, s.business, "UPDATE outbox SET event_type = 'missing', status = 'NEW' WHERE status = 'SENT'") // of the first poller
	s.backedOff(t, 1)
	second := s.walk(t)
	may, has := make(chan struct{}), make(chan struct{})
	second.Memory = waker{second.Memory, may, sync.OnceFunc(func() { close(has) })}
	start(t, second)
	s.await(t, 0, "event_type = 'orders-out' AND status = 'NEW'")
	require.Eventually(t, func() bool {
		return count(t, s.herald, "source_topic WHERE next_attempt_at > resting_since + interval '9 seconds'") == 1
	}, patience, 5*time.Millisecond, "the first poller does not ask again")

	close(may)
	<-has
	require.Equal(t, 1, count(t, s.herald, "source_topic"))

	s.createTopic(t, "missing")
	s.await(t, 16, "status = 'SENT'")
	s.backedOff(t, 0)
}
