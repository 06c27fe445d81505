package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"herald/tools/link"
	"herald/tools/rig"
)

// stage is an installation of Herald to disrupt: two workers, a gateway and the sandbox, with a
// database, a vhost and a topic on the servers of the environment.
type stage struct {
	*rig.Installation

	ordinary string // fault of the providers outside the drill's faults, in JSON
	hasTopic bool
	gateway  string // host:port
	programs []*program
	links    map[string][]*link.Link // by the name of their program, and by the name of their server
	without  []string                // faults that are impossible here, with the reason
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
	if s.gateway, err = rig.FreeAddress(); err != nil {
		return err
	}
	if err := s.StartSandbox(ctx, "--gateway", "http://"+s.gateway, "--receipts", `{"delay":"300ms"}`); err != nil {
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
	if err := setUp(ctx, s.DB, s.Sandbox.URL, people); err != nil {
		return err
	}
	if err := s.sendToKafka(ctx, kafkaLink); err != nil {
		return err
	}
	if err := s.BindQueue(); err != nil {
		return err
	}
	return s.startPrograms(ctx)
}

// configure sets the environment of the programs.
func (s *stage) configure(ctx context.Context) error {
	key, err := s.Sandbox.PublicKey(ctx)
	s.Env = append(append(slices.Clone(defaults), s.Env...),
		"SENDGRID_WEBHOOK_PUBLIC_KEY="+key, "EMAIL_PROVIDERS=sendgrid", "SMS_PROVIDERS=twilio", "PUSH_PROVIDERS=fcm",
		"PUBLIC_URL=http://"+s.gateway, "GATEWAY_HTTP_ADDR="+s.gateway,
		"AUTH_ISSUER=https://example.com", "AUTH_AUDIENCE=herald", "AUTH_HS256_SECRET="+rig.Secret, "AUTH_JWKS_URL=")
	return err
}

// sendToKafka creates the topic, and opens a link at the address that the broker advertises.
func (s *stage) sendToKafka(ctx context.Context, address string) error {
	broker, _, _ := strings.Cut(os.Getenv("KAFKA_BROKERS"), ",")
	switch {
	case broker == "":
		s.without = append(s.without, "everything of kafka: KAFKA_BROKERS is not set")
		return nil
	case address == "":
		s.without = append(s.without, "cut and slow kafka: clients connect to the addresses that brokers name, see --kafka-link")
	default:
		l, err := link.At(address, broker)
		if err != nil {
			return err
		}
		s.Data.AtEnd(func(context.Context) error { l.Close(); return nil })
		s.links["kafka"] = []*link.Link{l}
	}
	s.hasTopic = true
	return s.SendLifecycle(ctx, 1, "poll_interval: 500ms, ")
}
