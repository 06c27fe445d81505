package testbed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"herald/internal/notification"
	"herald/tools/sandbox"
	"herald/workflows"
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
}

// Secret may be public, because the processes live only as long as the run.
const Secret = "tools tools tools tools tools tools tools"

// NewInstallation creates a database and a vhost. It starts no program.
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
		"OUTBOX_SOURCES=", "HERALD_SECRET="+Secret)
	return in, nil
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
		in.Running.AtEnd(func(context.Context) error { _ = p.Stop(); return nil })
	}
	return p, err
}

// StartSandbox starts the sandbox in place of SendGrid and Twilio.
func (in *Installation) StartSandbox(ctx context.Context, args ...string) (*Process, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	p, err := in.Start("sandbox", append([]string{"--local", "--addr", address, "--ledger", in.Ledger()}, args...)...)
	if err != nil {
		return nil, err
	}
	in.Sandbox.URL = "http://" + address
	in.Env = append(in.Env, "SENDGRID_BASE_URL="+in.Sandbox.URL, "SENDGRID_API_KEY=SG.tools", "EMAIL_FROM=herald@example.com",
		"TWILIO_BASE_URL="+in.Sandbox.URL, "TWILIO_ACCOUNT_SID=AC00000000000000000000000000000000", "TWILIO_AUTH_TOKEN=tools", "TWILIO_FROM=+15005550006")
	return p, AwaitAnswer(ctx, in.Sandbox.URL+"/healthz", p)
}

// StartPollers starts the pollers of Herald's outbox and of other sources.
func (in *Installation) StartPollers(ctx context.Context, sources ...string) error {
	in.Running.AtEnd(func(ctx context.Context) error {
		err := in.Starter(ctx, "poller", "stop")
		in.endWorkflows(ctx, append(sources, notification.HeraldSource))
		return err
	})
	return in.Starter(ctx, "poller", "start")
}

// endWorkflows ends workflows that never end by themselves, also the pollers of dead workers. Some
// do not exist if the worker failed early.
func (in *Installation) endWorkflows(ctx context.Context, sources []string) {
	_ = in.Temporal.ScheduleClient().GetHandle(ctx, workflows.SweepID(in.Name)).Delete(ctx)
	ids := []string{workflows.FollowUpID(in.Name)}
	for _, source := range sources {
		ids = append(ids, workflows.PollerID(in.Name, source, 1))
	}
	for _, id := range ids {
		_ = in.Temporal.TerminateWorkflow(ctx, id, "", "the run has ended")
	}
}

// FreeAddress returns an address of this machine that no program uses.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startTime limits the start of a program.
const startTime = 2 * time.Minute

// AwaitAnswer waits until a GET returns 200, or the program has ended.
func AwaitAnswer(ctx context.Context, url string, p *Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("%s does not answer within %s", url, startTime))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	for {
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := p.Alive(); err != nil {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
