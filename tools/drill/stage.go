package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"herald/tools/link"
	"herald/tools/sandbox"
	"herald/tools/testbed"
)

// stage is an installation of Herald to disrupt: two workers, a gateway and the sandbox, with a
// database, a vhost and a topic on the servers of the environment.
type stage struct {
	data    testbed.Leftovers // database, vhost, topic and files, which remain after a finding
	running testbed.Leftovers // processes, pollers and connections

	name     string // prefix of the ids of workflows and events
	dir      string // of the ledger
	bin      string // of the programs
	env      []string
	vhost    string
	database string
	brokers  []string   // none: without a topic
	kafka    *link.Link // that the broker tells its clients; nil: none
	db       *pgxpool.Pool
	temporal client.Client
	sandbox  string // base URL
	gateway  string // host:port
	programs []*program
	without  []string // faults that cannot be had here, with the reason
}

// secret may be public, because the processes live only as long as the run.
const secret = "drill drill drill drill drill drill drill"

// defaults are settings that your environment overrides. Messages have so many attempts that they
// survive every fault.
var defaults = []string{
	"EMAIL_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "WEBHOOK_MAX_ATTEMPTS=100",
	"EMAIL_RETRY_INTERVAL=1s", "SMS_RETRY_INTERVAL=1s", "PUSH_RETRY_INTERVAL=1s", "WEBHOOK_RETRY_INTERVAL=1s",
	"EMAIL_RETRY_COEFFICIENT=1", "SMS_RETRY_COEFFICIENT=1", "PUSH_RETRY_COEFFICIENT=1", "WEBHOOK_RETRY_COEFFICIENT=1",
	"BULK_THRESHOLD=100",
}

// build creates the data, and starts the programs.
func (s *stage) build(ctx context.Context, people int, kafkaLink string) error {
	if err := s.createData(ctx, kafkaLink); err != nil {
		return err
	}
	if err := s.startSandbox(ctx); err != nil {
		return err
	}
	if err := s.configure(ctx); err != nil {
		return err
	}
	if err := s.starter(ctx, "migrate", "up"); err != nil {
		return err
	}
	if err := setUp(ctx, s.db, s.sandbox, people); err != nil {
		return err
	}
	if len(s.brokers) > 0 {
		if err := s.starter(ctx, "source", "migrate", "lifecycle"); err != nil {
			return err
		}
	}
	if err := s.bindQueue(); err != nil {
		return err
	}
	return s.startPrograms(ctx)
}

func (s *stage) createData(ctx context.Context, kafkaLink string) (err error) {
	if s.dir, err = os.MkdirTemp("", "herald-drill-"); err != nil {
		return err
	}
	s.data.AtEnd(func(context.Context) error { return os.RemoveAll(s.dir) })
	if s.database, err = s.data.CreateDatabase(ctx, s.name); err != nil {
		return err
	}
	if s.vhost, err = s.data.CreateVHost(ctx, s.name); err != nil {
		return err
	}
	if s.db, err = pgxpool.New(ctx, s.database); err != nil {
		return err
	}
	s.running.AtEnd(func(context.Context) error { s.db.Close(); return nil })
	if s.temporal, err = testbed.DialTemporal(ctx); err != nil {
		return err
	}
	s.running.AtEnd(func(context.Context) error { s.temporal.Close(); return nil })
	if brokers := os.Getenv("KAFKA_BROKERS"); brokers != "" {
		s.brokers = strings.Split(brokers, ",")
		if err := s.linkKafka(kafkaLink); err != nil {
			return err
		}
		return s.createTopic(ctx)
	}
	s.without = append(s.without, "everything of kafka: KAFKA_BROKERS is not set")
	return nil
}

// linkKafka listens at the address that the broker tells its clients.
func (s *stage) linkKafka(address string) (err error) {
	if address == "" {
		s.without = append(s.without, "cut and slow kafka: clients connect to the addresses that brokers name, see --kafka-link")
		return nil
	}
	s.kafka, err = link.At(address, s.brokers[0])
	if err == nil {
		s.data.AtEnd(func(context.Context) error { s.kafka.Close(); return nil })
	}
	return err
}

func (s *stage) ledger() string { return filepath.Join(s.dir, "ledger.ndjson") }

// configure sets the environment of the programs.
func (s *stage) configure(ctx context.Context) error {
	key, err := get(ctx, s.sandbox+"/keys/sendgrid")
	if err != nil {
		return err
	}
	host := strings.TrimPrefix(s.sandbox, "http://")
	s.env = append(append(append([]string{}, defaults...), os.Environ()...),
		"DATABASE_URL="+s.database, "RABBITMQ_URL="+s.vhost, "TASK_QUEUE_PREFIX="+s.name, "HERALD_SECRET="+secret, "OUTBOX_SOURCES=",
		"SENDGRID_BASE_URL="+s.sandbox, "SENDGRID_API_KEY=SG.drill", "EMAIL_FROM=herald@example.com", "SENDGRID_WEBHOOK_PUBLIC_KEY="+strings.TrimSpace(key),
		"TWILIO_BASE_URL="+s.sandbox, "TWILIO_ACCOUNT_SID=AC00000000000000000000000000000000", "TWILIO_AUTH_TOKEN=drill", "TWILIO_FROM=+15005550006",
		"FCM_BASE_URL="+s.sandbox+"/v1", "FCM_PROJECT_ID=herald-drill", "GOOGLE_APPLICATION_CREDENTIALS=",
		"WEBHOOK_ALLOWED_HOSTS="+host, "WEBHOOK_SECRET="+sandbox.WebhookSecret, "SLACK_ALLOWED_HOSTS="+host,
		"EMAIL_PROVIDERS=sendgrid", "SMS_PROVIDERS=twilio", "PUSH_PROVIDERS=fcm",
		"PUBLIC_URL=http://"+s.gateway, "GATEWAY_HTTP_ADDR="+s.gateway,
		"AUTH_ISSUER=https://example.com", "AUTH_AUDIENCE=herald", "AUTH_HS256_SECRET="+secret, "AUTH_JWKS_URL=")
	if len(s.brokers) == 0 {
		return nil
	}
	file := filepath.Join(s.dir, "sources.yaml")
	s.env = append(s.env, "OUTBOX_SOURCES="+file)
	return os.WriteFile(file, fmt.Appendf(nil, "- { name: lifecycle, poll_interval: 500ms, kafka: { topic: %s } }\n", s.topic()), 0o600)
}

func (s *stage) starter(ctx context.Context, args ...string) error {
	return testbed.Run(ctx, s.env, filepath.Join(s.bin, "starter"), args...)
}
