// Package rig serves the demo, the benchmark, the drill and the end-to-end tests. An [Installation] has
// a database and a vhost on the servers of the environment, and processes; the end of the run removes
// them. A [Load] writes events, and remembers the messages that they ask for. [Judge] compares these
// messages with the ledger, which has the messages that the sandbox accepted.
package rig

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

// Installation is Herald on the servers of the environment, with a separate database, vhost and
// prefix of workflow ids.
type Installation struct {
	Data    Leftovers // database, vhost, topics and files
	Running Leftovers // processes, pollers and connections

	Name     string // of the database and the vhost, and the prefix of the ids of workflows
	Dir      string // folder of its files
	Programs string // folder of worker, gateway, starter and sandbox
	Env      []string
	Database string // URL
	VHost    string // URL
	DB       *pgxpool.Pool
	Temporal client.Client
	Sandbox  sandbox.Client

	processes []*Process
}

// Secret may be public, because the processes live only as long as the run.
const Secret = "tools tools tools tools tools tools tools"

// NewInstallation creates a database with Herald's tables, and a vhost.
func NewInstallation(ctx context.Context, tool, programs string) (in *Installation, err error) {
	in = &Installation{Name: tool + "-" + strings.ToLower(rand.Text()[:8]), Programs: programs}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Remove())
		}
	}()
	if in.Dir, err = os.MkdirTemp("", "herald-"+tool+"-"); err != nil {
		return in, err
	}
	in.Data.AtEnd(func(context.Context) error { return os.RemoveAll(in.Dir) })
	if in.Database, err = in.Data.CreateDatabase(ctx, in.Name); err != nil {
		return in, err
	}
	if in.VHost, err = in.Data.CreateVHost(ctx, in.Name); err != nil {
		return in, err
	}
	if in.DB, err = pgxpool.New(ctx, in.Database); err != nil {
		return in, err
	}
	in.Running.AtEnd(func(context.Context) error { in.DB.Close(); return nil })
	if in.Temporal, err = DialTemporal(ctx); err != nil {
		return in, err
	}
	in.Running.AtEnd(func(context.Context) error { in.Temporal.Close(); return nil })
	in.Env = append(os.Environ(), "DATABASE_URL="+in.Database, "RABBITMQ_URL="+in.VHost, "TASK_QUEUE_PREFIX="+in.Name,
		"OUTBOX_SOURCES=", "HERALD_SECRET="+Secret, "WORKER_HTTP_ADDR=127.0.0.1:0")
	return in, in.Starter(ctx, "migrate", "up")
}

// Remove stops everything that runs, and deletes all data.
func (in *Installation) Remove() error { return errors.Join(in.Running.Remove(), in.Data.Remove()) }

// Program returns the path of a program.
func (in *Installation) Program(name string) string { return filepath.Join(in.Programs, name) }

// Ledger returns the path of the sandbox's ledger.
func (in *Installation) Ledger() string { return filepath.Join(in.Dir, "ledger.ndjson") }

// Starter runs the operator's command.
func (in *Installation) Starter(ctx context.Context, args ...string) error {
	return Run(ctx, in.Env, in.Program("starter"), args...)
}

// Sources writes the file of OUTBOX_SOURCES.
func (in *Installation) Sources(text string) error {
	file := filepath.Join(in.Dir, "sources.yaml")
	in.Env = append(in.Env, "OUTBOX_SOURCES="+file)
	return os.WriteFile(file, []byte(text), 0o600)
}

// Start starts a program, which stops at the end.
func (in *Installation) Start(program string, args ...string) (*Process, error) {
	p, err := Start(in.Env, in.Program(program), args...)
	if err == nil {
		in.processes = append(in.processes, p)
		in.Running.AtEnd(func(context.Context) error { _ = p.Stop(); return nil })
	}
	return p, err
}

// StartSandbox starts the sandbox in place of all providers.
func (in *Installation) StartSandbox(ctx context.Context, args ...string) error {
	address, err := FreeAddress()
	if err != nil {
		return err
	}
	p, err := in.Start("sandbox", append([]string{"--local", "--addr", address, "--ledger", in.Ledger()}, args...)...)
	if err != nil {
		return err
	}
	in.Sandbox.URL = "http://" + address
	in.Env = append(in.Env, ProviderSettings(in.Sandbox.URL)...)
	return AwaitAnswer(ctx, in.Sandbox.URL+"/healthz", p)
}

// ProviderSettings returns the settings of workers that send to a sandbox in place of all providers.
func ProviderSettings(sandboxURL string) []string {
	host := strings.TrimPrefix(sandboxURL, "http://")
	return []string{
		"SENDGRID_BASE_URL=" + sandboxURL, "SENDGRID_API_KEY=SG.tools", "EMAIL_FROM=herald@example.com",
		"TWILIO_BASE_URL=" + sandboxURL, "TWILIO_FROM=+15005550006",
		"TWILIO_ACCOUNT_SID=AC00000000000000000000000000000000", "TWILIO_AUTH_TOKEN=tools",
		"FCM_BASE_URL=" + sandboxURL + "/v1", "FCM_PROJECT_ID=herald-tools", "GOOGLE_APPLICATION_CREDENTIALS=",
		"WEBHOOK_ALLOWED_HOSTS=" + host, "WEBHOOK_SECRET=" + sandbox.WebhookSecret, "SLACK_ALLOWED_HOSTS=" + host,
	}
}

// StartPollers starts the pollers of Herald's outbox and of other sources.
func (in *Installation) StartPollers(ctx context.Context, sources ...string) error {
	in.Running.AtEnd(func(ctx context.Context) error {
		err := in.Starter(ctx, "poller", "stop")
		EndWorkflows(ctx, in.Temporal, in.Name, append(sources, notification.HeraldSource)...)
		return err
	})
	return in.Starter(ctx, "poller", "start")
}

// Count returns the number that the SQL selects.
func (in *Installation) Count(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = in.DB.QueryRow(ctx, sql, args...).Scan(&n)
	return n, err
}

// Await waits until done returns true. It fails if a program has ended by itself.
func (in *Installation) Await(ctx context.Context, done func() (bool, error)) error {
	return Await(ctx, lookInterval, func() (bool, error) {
		ok, err := done()
		for _, p := range in.processes {
			if !ok && err == nil && !p.stopped.Load() {
				err = p.Alive()
			}
		}
		return ok, err
	})
}
