package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

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

func (s *stage) startSandbox(ctx context.Context) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if s.gateway, err = freeAddress(); err != nil {
		return err
	}
	provider, err := testbed.Start(os.Environ(), filepath.Join(s.bin, "sandbox"), "--local", "--addr", address,
		"--ledger", s.ledger(), "--gateway", "http://"+s.gateway, "--receipts", `{"delay":"300ms"}`)
	if err != nil {
		return err
	}
	s.running.AtEnd(func(context.Context) error { return provider.Stop() })
	s.sandbox = "http://" + address
	if err := awaitAnswer(ctx, s.sandbox+"/healthz", provider.Alive); err != nil {
		return err
	}
	for _, channel := range channels {
		if err := s.faultOf(channel, ordinary)(ctx); err != nil {
			return err
		}
	}
	return nil
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

// startPrograms starts the workers, the gateway and the pollers.
func (s *stage) startPrograms(ctx context.Context) error {
	var ready []string
	for _, name := range []string{"worker 1", "worker 2", "gateway"} {
		admin, err := freeAddress()
		if err != nil {
			return err
		}
		p, err := s.program(name, admin)
		if err != nil {
			return err
		}
		if err := p.up(ctx); err != nil {
			return err
		}
		s.running.AtEnd(p.stop)
		s.programs = append(s.programs, p)
		ready = append(ready, "http://"+admin+"/readyz")
	}
	for i, url := range ready {
		if err := awaitAnswer(ctx, url, s.programs[i].process.Alive); err != nil {
			return err
		}
	}
	s.running.AtEnd(func(ctx context.Context) error {
		return errors.Join(s.starter(ctx, "poller", "stop"), testbed.EndWorkflows(ctx, s.name, "lifecycle"))
	})
	return s.starter(ctx, "poller", "start")
}

// program returns a program whose connections to the servers go over links.
func (s *stage) program(name, admin string) (*program, error) {
	p := &program{name: name, links: map[string]*link.Link{}}
	env := append(append([]string{}, s.env...), "WORKER_HTTP_ADDR="+admin, "GATEWAY_ADMIN_ADDR="+admin)
	values := map[string]string{"DATABASE_URL": s.database, "RABBITMQ_URL": s.vhost}
	for _, server := range serverNames[:3] { // Kafka's clients connect to the address that the broker names
		value := values[server.setting]
		if value == "" {
			value = os.Getenv(server.setting)
		}
		l, over, err := linkTo(server.setting, value)
		if err != nil {
			if name == "gateway" { // the reason is the same for each program
				s.without = append(s.without, fmt.Sprintf("cut and slow %s: %s", server.name, err))
			}
			continue
		}
		s.running.AtEnd(func(context.Context) error { l.Close(); return nil })
		p.links[server.name] = l
		env = append(env, server.setting+"="+over)
	}
	path := filepath.Join(s.bin, strings.Fields(name)[0])
	p.start = func() (*testbed.Process, error) { return testbed.Start(env, path) }
	return p, nil
}

// ordinary makes the sandbox as slow as a provider, so that a crash meets messages under way.
const ordinary = `{"latency":"150ms"}`

// channels are the providers' names in the sandbox's faults.
var channels = []string{"email", "sms", "push", "webhook"}

// providerFaults are the faults of the sandbox.
var providerFaults = []struct{ kind, fault string }{
	{"refuse", `{"status":503}`},
	{"slow", `{"latency":"2s"}`},
	{"cut before", `{"drop":"before"}`},
	{"cut after", `{"drop":"after","rate":0.5}`},
}

// lanes returns the faults: one lane for programs and providers, one for servers, so that a program
// fails while a server does.
func (s *stage) lanes(commands commands) (near, far []fault) {
	for _, p := range s.programs {
		near = append(near, p.faults()...)
	}
	for _, channel := range channels {
		for _, f := range providerFaults {
			near = append(near, fault{channel + " provider", f.kind, s.faultOf(channel, f.fault), s.faultOf(channel, ordinary)})
		}
	}
	for _, server := range serverNames {
		if server.name == "kafka" && len(s.brokers) == 0 {
			continue
		}
		var links []*link.Link
		for _, p := range s.programs {
			if l := p.links[server.name]; l != nil {
				links = append(links, l)
			}
		}
		if server.name == "kafka" && s.kafka != nil {
			links = append(links, s.kafka)
		}
		faults, without := commands.faults(server.name)
		far = append(append(far, linkFaults(server.name, links)...), faults...)
		s.without = append(s.without, without...)
	}
	return near, far
}

// faultOf sets the fault of a channel in the sandbox.
func (s *stage) faultOf(channel, body string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, s.sandbox+"/faults/"+channel, strings.NewReader(body))
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("the sandbox refuses the fault: %s", answer.Status)
		}
		return nil
	}
}

// freeAddress returns an address of this machine that no program uses.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startTime limits the start of a program.
const startTime = 2 * time.Minute

// awaitAnswer waits until a GET returns 200, or the program has ended.
func awaitAnswer(ctx context.Context, url string, alive func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		_, err := get(ctx, url)
		if err == nil {
			return nil
		}
		if ended := alive(); ended != nil {
			return ended
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return fmt.Errorf("no answer within %s: %w", startTime, err)
		}
	}
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", url, answer.Status)
	}
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// readLedger reads what the providers accepted.
func (s *stage) readLedger() (all []accepted, err error) {
	file, err := os.Open(s.ledger())
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	for decoder := json.NewDecoder(file); decoder.More(); {
		var entry sandbox.Entry
		if decoder.Decode(&entry) != nil {
			return nil, errors.New("the ledger cannot be read") // the cause may quote an address
		}
		if entry.Accepted {
			all = append(all, accepted{entry.Time, entry.DeliveryID, entry.Recipient, entry.Body + entry.Text})
		}
	}
	return all, nil
}
