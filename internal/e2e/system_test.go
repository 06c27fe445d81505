package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/tools/rig"
	"herald/tools/sandbox"
)

// binaries is the folder of the real programs, built once. They have no debug symbols, because linking
// those would take a third of the time.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "herald-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	err = rig.Run(context.Background(), nil, "go", "build", "-ldflags=-s -w", "-o", dir,
		"herald/worker", "herald/starter", "herald/gateway", "herald/tools/sandbox/cmd/sandbox", "herald/tools/demo/cmd/demo")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binaries = dir
	// Tests mostly wait for intervals and timeouts, so more tests than cores run in parallel. They start
	// about in the order of their files' names: the longest tests are in files whose names sort first.
	// The flag -parallel overrides this.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	code := m.Run()
	if *record != "" {
		if err := writeHistories(); err != nil {
			fmt.Fprintln(os.Stderr, "record histories:", err)
			return 1
		}
	}
	return code
}

// servers holds the addresses of a local stack.
type servers struct {
	databaseURL, rabbitURL, temporalAddress string
}

// system is an installation of Herald on real servers: a separate database, vhost and task-queue
// prefix, the sandbox in place of all providers, and real worker processes.
type system struct {
	t        *testing.T
	name     string // prefix of its queues and event ids
	servers  servers
	store    *db.DB
	load     *rig.Load // of [system.writeEvents]
	temporal client.Client
	sandbox  *httptest.Server
	fakes    *sandbox.Server // behind sandbox
	env      []string
	programs string // the folder of its programs
}

// heraldSecret is the secret of the installations.
const heraldSecret = "the secret of an installation in the tests"

// newSystem sets up an installation on the shared stack. The settings override the settings of
// environment.
func newSystem(t *testing.T, settings ...string) *system {
	t.Helper()
	return newSystemOn(t, shared(t), settings...)
}

// shared returns a new database, a new vhost and the Temporal of the shared stack.
func shared(t *testing.T) servers {
	t.Helper()
	address := os.Getenv("TEMPORAL_ADDRESS")
	require.NotEmpty(t, address, "TEMPORAL_ADDRESS is not set: run make test")
	return servers{postgrestest.URL(t), rabbitmqtest.VHost(t), address}
}

func newSystemOn(t *testing.T, on servers, settings ...string) *system {
	t.Helper()
	s := &system{t: t, name: "e2e-" + uuid.NewString()[:8], servers: on, programs: binaries}

	s.startSandbox(sandbox.Config{})
	s.store = must(db.Open(t.Context(), on.databaseURL, "herald-e2e"))(t)
	t.Cleanup(s.store.Close)
	s.load = &rig.Load{DB: s.store.Pool}
	s.temporal = must(client.Dial(client.Options{HostPort: on.temporalAddress, Logger: log.NewStructuredLogger(discard())}))(t)
	t.Cleanup(s.temporal.Close)
	t.Cleanup(s.endWorkflows)
	t.Cleanup(func() { s.checkHistories() })

	s.env = append(s.environment(), settings...)
	return s
}

// startSandbox starts the providers.
func (s *system) startSandbox(config sandbox.Config) {
	s.t.Helper()
	config.Ledger, config.Local = filepath.Join(s.t.TempDir(), "ledger.ndjson"), true
	providers := must(sandbox.New(config))(s.t)
	server := httptest.NewServer(providers)
	s.sandbox, s.fakes = server, providers
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = providers.Close()
	})
}

func (s *system) environment() []string {
	return append(append(os.Environ(), rig.ProviderSettings(s.sandbox.URL)...),
		"DATABASE_URL="+s.servers.databaseURL,
		"RABBITMQ_URL="+s.servers.rabbitURL,
		"TEMPORAL_ADDRESS="+s.servers.temporalAddress,
		"TASK_QUEUE_PREFIX="+s.name,
		"OUTBOX_SOURCES=", // a demo may have set it, but the test's database has no such tables
		"EMAIL_FROM_NAME=Herald", "PUBLIC_URL=http://localhost:8080", "HERALD_SECRET="+heraldSecret,
		"EMAIL_RETRY_INTERVAL=200ms", "PUSH_RETRY_INTERVAL=200ms", "SMS_RETRY_INTERVAL=200ms", "WEBHOOK_RETRY_INTERVAL=200ms",
		// Long, because a timeout on a busy machine would repeat a message.
		"EMAIL_TIMEOUT=30s", "PUSH_TIMEOUT=30s", "SMS_TIMEOUT=30s", "WEBHOOK_TIMEOUT=30s", "SLACK_TIMEOUT=30s", "WEBSOCKET_TIMEOUT=30s",
	)
}

// endWorkflows ends workflows that never end by themselves, because Temporal outlives the test.
func (s *system) endWorkflows() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rig.EndWorkflows(ctx, s.temporal, s.name)
}

// with returns the installation with additional settings for its processes.
func (s *system) with(settings ...string) *system {
	other := *s
	other.env = append(slices.Clone(s.env), settings...)
	return &other
}

// starter runs the operator's command, which must succeed, and returns its output.
func (s *system) starter(args ...string) string {
	s.t.Helper()
	return s.program("starter", args...)
}

func (s *system) tryStarter(args ...string) (string, error) {
	return s.tryProgram("starter", args...)
}

// program runs a program, which must succeed, and returns its output.
func (s *system) program(program string, args ...string) string {
	s.t.Helper()
	out, err := s.tryProgram(program, args...)
	require.NoError(s.t, err, "%s %s: %s", program, strings.Join(args, " "), out)
	return out
}

func (s *system) tryProgram(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, program), args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	checkTimes(s.t, strings.Join(args, " "), string(out))
	return string(out), err
}

// fails runs a command that must fail with an exit code and with output that contains want.
func (s *system) fails(code int, want string, args ...string) {
	s.t.Helper()
	out, err := s.tryStarter(args...)
	var exit *exec.ExitError
	require.True(s.t, errors.As(err, &exit), "%v: %s", args, out)
	require.Equal(s.t, code, exit.ExitCode(), "%v: %s", args, out)
	require.Contains(s.t, out, want, args)
	require.Contains(s.t, out, "next: ", args)
}

// emit writes an event of an aggregate such as CUSTOMER/42 and returns its id.
func (s *system) emit(id, eventType, aggregate, payload string, more ...string) string {
	s.t.Helper()
	aggregateType, aggregateID, _ := strings.Cut(aggregate, "/")
	s.starter(append([]string{"emit", "--event-id", id, "--type", eventType, "--aggregate-type", aggregateType, "--aggregate-id", aggregateID,
		"--payload", payload}, more...)...)
	return id
}

// gatewayStore returns the statements of a gateway.
func (s *system) gatewayStore() *db.DB { return s.store }

// fill inserts rows that prepare the test.
func (s *system) fill(rows ...postgrestest.Row) {
	s.t.Helper()
	postgrestest.Add(s.t, s.store.Pool, rows...)
}

// fillMany inserts n rows that prepare the test. The expressions replace columns of the row.
func (s *system) fillMany(n int, row postgrestest.Row, replaced postgrestest.Expressions) {
	s.t.Helper()
	postgrestest.AddMany(s.t, s.store.Pool, n, row, replaced)
}

// exec runs SQL that prepares the test.
func (s *system) exec(sql string, args ...any) {
	s.t.Helper()
	must(s.store.Pool.Exec(s.t.Context(), sql, args...))(s.t)
}

// configure runs the SQL of a document.
func (s *system) configure(document string) {
	s.t.Helper()
	for _, script := range runnable(s.t, document) {
		s.exec(script)
	}
}

// customers inserts customers 1 to n, who have an address on every channel for customers.
func (s *system) customers(n int) {
	s.t.Helper()
	s.fillMany(n, postgrestest.Recipient{}, postgrestest.Expressions{
		"user_id": "i", "email": "'c' || i || '@example.com'", "phone": "'+1201555' || lpad((i % 10000)::text, 4, '0')",
	})
	s.fillMany(n, postgrestest.Device{UserType: notification.Customer}, postgrestest.Expressions{"user_id": "i", "token": "'token-' || i"})
}

// route sends an event type over channels at once, each event with the same text.
func (s *system) route(eventType string, channels ...notification.Channel) {
	s.t.Helper()
	for _, channel := range channels {
		s.fill(postgrestest.Route{EventType: eventType, Channel: channel})
	}
	postgrestest.AddMissing(s.t, s.store.Pool, postgrestest.Template{Title: "News", Body: "For {{.recipient.user_id}}"})
}

// burst commits n events of a type at once, for all customers in turn.
func (s *system) burst(name, eventType string, n int) {
	s.t.Helper()
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-' || n, $2, 'CUSTOMER', (n % (SELECT count(*) FROM recipient) + 1)::text, jsonb_build_object('number', n)
	        FROM   generate_series(1, $3::int) n`,
		s.name+name, eventType, n)
}

// count returns the number that the SQL selects, or -1 if the database does not answer.
func (s *system) count(sql string, args ...any) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	var n int
	if err := s.store.Pool.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		s.t.Logf("count: %v", err)
		return -1
	}
	return n
}

// patience limits the wait for a condition. It is far longer than a busy machine needs.
const patience = 8 * time.Minute

// eventually waits until condition holds.
func (s *system) eventually(condition func() bool, message string, args ...any) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf(message, args...)
		}
	}
}

// awaitCount waits until the SQL returns want.
func (s *system) awaitCount(want int, sql string, args ...any) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		got := s.count(sql, args...)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("got %d, and never %d: %s %v", got, want, sql, args)
		}
	}
}

// awaitSuccess waits until events have ended.
func (s *system) awaitSuccess(ids ...string) {
	s.t.Helper()
	s.awaitCount(len(ids), `SELECT count(*) FROM processed_event WHERE event_id = ANY ($1) AND status = 'SUCCESS'`, ids)
}

// awaitDelivery waits until a delivery has a status.
func (s *system) awaitDelivery(id, status string) {
	s.t.Helper()
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = $2`, id, status)
}

// history returns the history of a workflow's last run, as Temporal stores it.
func (s *system) history(id string) *historypb.History {
	s.t.Helper()
	recorded := &historypb.History{}
	for events := s.temporal.GetWorkflowHistory(s.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		recorded.Events = append(recorded.Events, must(events.Next())(s.t))
	}
	return recorded
}

// pending returns the activities of a workflow that have not ended, or none without the workflow.
func (s *system) pending(id string) []*workflowpb.PendingActivityInfo {
	described, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
	if err != nil {
		return nil
	}
	return described.RawResponse.GetPendingActivities()
}

// awaitBegun waits until a workflow has started.
func (s *system) awaitBegun(id string) {
	s.t.Helper()
	s.eventually(func() bool {
		_, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
		return err == nil
	}, "%s never began", id)
}

// awaitDeliveries waits until want deliveries of an event have a status.
func (s *system) awaitDeliveries(event, status string, want int) {
	s.t.Helper()
	s.awaitCount(want, `SELECT count(*) FROM notification WHERE event_id = $1 AND status = $2`, event, status)
}

// must returns the value of a call, and fails the test if the call returned an error.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}
