package operate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
)

// Every error of the orders that are no verbs, and what they record.
func TestSentencesOfOrders(t *testing.T) {
	t.Parallel()

	s := &transcript{t: t}
	s.people()
	s.pollers()
	s.promotions()
	s.suppressions()
	s.sources()
	s.bulkRecords()
	s.compare("orders")
}

func (s *transcript) people() {
	o := plantGuest(s.t)
	for _, who := range [][2]notification.RecipientKey{
		{ada, ada}, {guest, {UserType: notification.Customer, UserID: "404"}},
	} {
		_, err := o.PlanMerge(s.t.Context(), who[0], who[1])
		s.failure("merge", err)
	}
	must(o.Merge(s.t.Context(), must(o.PlanMerge(s.t.Context(), guest, ada))(s.t), func(Merger) {}))(s.t)
	_, err := o.PlanMerge(s.t.Context(), notification.RecipientKey{UserType: notification.Customer, UserID: "43"}, guest)
	s.failure("merge into a former person", err)
	_, err = o.PlanErase(s.t.Context(), notification.RecipientKey{UserType: notification.Customer, UserID: "404"})
	s.failure("erase", err)
	erase(s.t, o)
	_, err = o.PlanMerge(s.t.Context(), ada, notification.RecipientKey{UserType: notification.Customer, UserID: "43"})
	s.failure("merge an erased person", err)
	require.NoError(s.t, o.Export(s.t.Context(), ada, func(person.ExportPage) error { return nil }))
	s.audit(o.Operator)
}

func (s *transcript) pollers() {
	order := func(temporal *server, give func(*Operator, context.Context, []relay.Source) ([]string, error)) {
		ctx, cancel := context.WithCancelCause(s.t.Context())
		defer cancel(nil)
		if temporal.workers != nil { // no poller obeys in time
			temporal.onLook = func(looks int, s *server) {
				s.status["test-outbox-poller-1"] = running
				if looks > maxPollers {
					cancel(errors.New("took longer than 1m"))
				}
			}
		}
		o := &Operator{DB: postgrestest.New(s.t), Launcher: temporal.launcher(), Order: Order{Actor: "ada", Command: "poller"}}
		_, err := give(o, ctx, heralds(1))
		s.failure("pollers", err)
	}
	stop := func(o *Operator, ctx context.Context, _ []relay.Source) ([]string, error) {
		o.Launcher.Client.(*server).looks = maxPollers
		return nil, o.StopPollers(ctx, heralds(1), []string{"test-outbox-poller-1"})
	}
	order(&server{}, (*Operator).PausePollers)
	order(twoPollers(), (*Operator).ResumePollers)
	order(twoPollers(time.Second), (*Operator).PausePollers)
	order(twoPollers(time.Second), (*Operator).ResumePollers)
	order(twoPollers(time.Second), stop)
	_, err := OtherInstallations(s.t.Context(), (&server{err: errBroken}).launcher())
	s.failure("other installations", err)
}

func (s *transcript) promotions() {
	d := newDesk(s.t)
	d.server.On("DescribeTaskQueue", mock.Anything, mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("none"))
	d.deploys(&deployments{current: 5, activated: []int{4}})
	for _, order := range []Promotion{{Generation: 4}, {Generation: 6}, {Generation: 4, AtStart: true}} {
		_, err := d.Promote(s.t.Context(), order)
		s.failure("promote", err)
	}
	must(d.Promote(s.t.Context(), Promotion{Generation: 4, Rollback: true}))(s.t)
	s.audit(d.Operator)
	d.reset(notification.Pending)
	polls := &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueuepb.PollerInfo{{Identity: "w", LastAccessTime: timestamppb.Now()}}}
	d.server.On("DescribeTaskQueue", mock.Anything, mock.Anything, mock.Anything).Return(polls, nil)
	d.deploys(&deployments{current: 5, activated: []int{4}})
	_, err := d.Promote(s.t.Context(), Promotion{Generation: 4, Rollback: true})
	s.failure("promote", err)
	for _, all := range []launch.Generations{{Current: 3, Ramping: 4}, {Current: 3, Activated: []int{5}}} {
		s.failure("promote at start", permitAtStart(5, all))
	}
	s.failure("channel pause", d.OverrideProvider(s.t.Context(), "pigeon", notification.ProviderPaused))
}

func (s *transcript) suppressions() {
	o := &Operator{DB: postgrestest.New(s.t), Order: Order{Actor: "ada", Command: "suppression", Reason: "request 17"}}
	mail := Address{Channel: notification.Email, Text: "a@example.com"}
	s.failure("suppress", Address{Channel: notification.SMS, Text: "x"}.Check())
	s.failure("suppress", Suppressing{Address: mail, Detail: "to A@example.com"}.Check())
	s.failure("suppress", Suppressing{Address: mail, Detail: string(make([]byte, maxSuppressionDetail+1))}.Check())
	_, err := o.PlanUnsuppress(s.t.Context(), mail, "")
	s.failure("unsuppress", err)
	hash := func(text string) []byte { return []byte(text) }
	o.DB.UseSecrets(notification.AddressKey{Fingerprint: "test", Hash: hash}, notification.AddressKey{})
	_, err = o.PlanUnsuppress(s.t.Context(), mail, "")
	s.failure("unsuppress", err)
}

func (s *transcript) sources() {
	o := &Operator{DB: postgrestest.New(s.t), Order: Order{Actor: "ada", Command: "source migrate"}}
	of := func(topic string) relay.Source {
		return relay.Source{Name: "orders", Table: "orders.outbox", Kafka: &relay.KafkaRoute{Topic: topic}}
	}
	for _, brokers := range []brokersWithout{{nil}, {errBroken}} {
		_, err := o.CreateTopic(s.t.Context(), brokers, of("order-events"))
		if err != nil {
			s.failure("create a topic", err)
		}
	}
	_, err := o.CreateTopic(s.t.Context(), brokersWithout{}, of("{{.event_type}}"))
	s.failure("create a topic", err)
	s.audit(o)
	_, away := pgconn.Connect(s.t.Context(), "postgres://herald@127.0.0.1:1/orders?sslmode=disable")
	for _, err := range []error{dialects.ErrMigrating, away, &pgconn.PgError{Severity: "ERROR", Message: "no", Code: "42501"}} {
		_, cleaner := SourceCleaner(o.DB, of(""))
		s.failure("purge", ofSource(err, cleaner.(sourceCleaner).refused))
	}
}

// brokersWithout has no topic, and answers an order to create one.
type brokersWithout struct{ err error }

func (b brokersWithout) MissingTopics(_ context.Context, topics []string) (map[string]string, error) {
	return map[string]string{topics[0]: "missing"}, nil
}

func (b brokersWithout) CreateTopic(context.Context, string) error { return b.err }

func (s *transcript) bulkRecords() {
	w := newWorld(s.t)
	w.Order.Reason = "request 17"
	must(w.Do(s.t.Context(), w.verb(), rows(1), nil))(s.t)
	s.audit(w.Operator)
}
