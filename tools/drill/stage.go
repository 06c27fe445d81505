package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"herald/tools/link"
	"herald/tools/sandbox"
	"herald/tools/testbed"
)

// stage is an installation of Herald to disrupt: two workers, a gateway and the sandbox, with a
// database, a vhost and a topic on the servers of the environment.
type stage struct {
	*testbed.Installation

	ordinary string // fault of the providers outside the drill's faults, in JSON
	hasTopic bool
	kafka    *link.Link // listens at the address that the broker advertises; nil: none
	gateway  string     // host:port
	programs []*program
	without  []string // faults that are impossible here, with the reason
}

// defaults are settings that your environment overrides. They give messages enough attempts to survive
// every fault.
var defaults = []string{
	"EMAIL_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "WEBHOOK_MAX_ATTEMPTS=100",
	"EMAIL_RETRY_INTERVAL=1s", "SMS_RETRY_INTERVAL=1s", "PUSH_RETRY_INTERVAL=1s", "WEBHOOK_RETRY_INTERVAL=1s",
	"EMAIL_RETRY_COEFFICIENT=1", "SMS_RETRY_COEFFICIENT=1", "PUSH_RETRY_COEFFICIENT=1", "WEBHOOK_RETRY_COEFFICIENT=1",
	"BULK_THRESHOLD=100",
}

// build creates the data, and starts the programs.
func (s *stage) build(ctx context.Context, people int, kafkaLink string) (err error) {
	if s.gateway, err = testbed.FreeAddress(); err != nil {
		return err
	}
	if _, err := s.StartSandbox(ctx, "--gateway", "http://"+s.gateway, "--receipts", `{"delay":"300ms"}`); err != nil {
		return err
	}
	for _, channel := range channels {
		if err := s.Sandbox.SetFault(ctx, channel, s.ordinary); err != nil {
			return err
		}
	}
	if err := s.configure(ctx); err != nil {
		return err
	}
	if err := s.Starter(ctx, "migrate", "up"); err != nil {
		return err
	}
	if err := setUp(ctx, s.DB, s.Sandbox.URL, people); err != nil {
		return err
	}
	if err := s.sendToKafka(ctx, kafkaLink); err != nil {
		return err
	}
	if err := s.bindQueue(); err != nil {
		return err
	}
	return s.startPrograms(ctx)
}

// configure sets the environment of the programs.
func (s *stage) configure(ctx context.Context) error {
	key, err := s.Sandbox.PublicKey(ctx)
	host := strings.TrimPrefix(s.Sandbox.URL, "http://")
	s.Env = append(append(slices.Clone(defaults), s.Env...),
		"SENDGRID_WEBHOOK_PUBLIC_KEY="+key, "FCM_BASE_URL="+s.Sandbox.URL+"/v1", "FCM_PROJECT_ID=herald-drill", "GOOGLE_APPLICATION_CREDENTIALS=",
		"WEBHOOK_ALLOWED_HOSTS="+host, "WEBHOOK_SECRET="+sandbox.WebhookSecret, "SLACK_ALLOWED_HOSTS="+host,
		"EMAIL_PROVIDERS=sendgrid", "SMS_PROVIDERS=twilio", "PUSH_PROVIDERS=fcm",
		"PUBLIC_URL=http://"+s.gateway, "GATEWAY_HTTP_ADDR="+s.gateway,
		"AUTH_ISSUER=https://example.com", "AUTH_AUDIENCE=herald", "AUTH_HS256_SECRET="+testbed.Secret, "AUTH_JWKS_URL=")
	return err
}

// sendToKafka creates the topic, and opens a link at the address that the broker advertises.
func (s *stage) sendToKafka(ctx context.Context, address string) (err error) {
	broker, _, _ := strings.Cut(os.Getenv("KAFKA_BROKERS"), ",")
	switch {
	case broker == "":
		s.without = append(s.without, "everything of kafka: KAFKA_BROKERS is not set")
		return nil
	case address == "":
		s.without = append(s.without, "cut and slow kafka: clients connect to the addresses that brokers name, see --kafka-link")
	default:
		if s.kafka, err = link.At(address, broker); err != nil {
			return err
		}
		s.Data.AtEnd(func(context.Context) error { s.kafka.Close(); return nil })
	}
	s.hasTopic = true
	if err := s.Data.CreateTopic(ctx, s.topic(), 1); err != nil {
		return err
	}
	if err := s.Sources(fmt.Sprintf("- { name: lifecycle, poll_interval: 500ms, kafka: { topic: %s } }\n", s.topic())); err != nil {
		return err
	}
	return s.Starter(ctx, "source", "migrate", "lifecycle")
}
