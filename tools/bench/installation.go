package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

// installation is Herald on the local stack, with a separate database, vhost and topics.
type installation struct {
	leftovers

	name     string
	dir      string // folder of its files
	programs string // the folder of worker, starter and sandbox
	env      []string
	worker   *process
	provider *process // the sandbox; nil: none
	vhost    string   // URL of the vhost
	brokers  []string
	db       *pgxpool.Pool
	kafka    *kgo.Client
}

// secret may be public, because the processes live only as long as the run.
const secret = "benchmark benchmark benchmark benchmark"

// newInstallation creates the database and the vhost. programs is the folder of the programs.
func newInstallation(ctx context.Context, programs string) (in *installation, err error) {
	in = &installation{name: "bench-" + strings.ToLower(rand.Text()[:8]), programs: programs}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.remove())
		}
	}()
	if in.dir, err = os.MkdirTemp("", "herald-bench-"); err != nil {
		return in, err
	}
	in.atEnd(func(context.Context) error { return os.RemoveAll(in.dir) })
	database, err := in.createDatabase(ctx)
	if err != nil {
		return in, err
	}
	if in.vhost, err = in.createVHost(ctx); err != nil {
		return in, err
	}
	in.env = append(os.Environ(), "DATABASE_URL="+database, "RABBITMQ_URL="+in.vhost, "TASK_QUEUE_PREFIX="+in.name,
		"OUTBOX_SOURCES=", "HERALD_SECRET="+secret, "WORKER_HTTP_ADDR=127.0.0.1:0")
	return in, nil
}

// checkServers returns an error that names a server without settings.
func checkServers() error {
	for _, name := range []string{"DATABASE_URL", "RABBITMQ_URL", "RABBITMQ_MANAGEMENT_URL", "TEMPORAL_ADDRESS"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("%s is not set: run `make up`, then `make bench`", name)
		}
	}
	return nil
}

func (in *installation) createDatabase(ctx context.Context) (address string, err error) {
	server := os.Getenv("DATABASE_URL")
	name := pgx.Identifier{in.name}.Sanitize()
	if err := onServer(ctx, server, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	in.atEnd(func(ctx context.Context) error { return onServer(ctx, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("DATABASE_URL cannot be read")
	}
	u.Path = "/" + in.name
	if in.db, err = pgxpool.New(ctx, u.String()); err != nil {
		return "", err
	}
	in.atEnd(func(context.Context) error { in.db.Close(); return nil })
	_, err = in.db.Exec(ctx, "CREATE SCHEMA bench")
	return u.String(), err
}

func onServer(ctx context.Context, server, sql string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

func (in *installation) createVHost(ctx context.Context) (address string, err error) {
	if err := manage(ctx, http.MethodPut, in.name); err != nil {
		return "", err
	}
	in.atEnd(func(ctx context.Context) error { return manage(ctx, http.MethodDelete, in.name) })
	u, err := url.Parse(os.Getenv("RABBITMQ_URL"))
	if err != nil {
		return "", errors.New("RABBITMQ_URL cannot be read")
	}
	u.Path = "/" + in.name
	return u.String(), nil
}

// manage creates or deletes a vhost. The creator of a vhost has all permissions in it.
func manage(ctx context.Context, method, vhost string) error {
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("RABBITMQ_MANAGEMENT_URL")+"/api/vhosts/"+vhost, http.NoBody)
	if err != nil {
		return errors.New("RABBITMQ_MANAGEMENT_URL cannot be read")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s the vhost %s: %s", method, vhost, response.Status)
	}
	return nil
}

// start starts a worker for events, and pollers for the sources.
func (in *installation) start(ctx context.Context, sources string) error {
	file := filepath.Join(in.dir, "sources.yaml")
	if err := os.WriteFile(file, []byte(sources), 0o600); err != nil {
		return err
	}
	in.env = append(in.env, "OUTBOX_SOURCES="+file)
	var err error
	if in.worker, err = in.startWorker("--events"); err != nil {
		return err
	}
	return in.startPollers(ctx)
}

// startWorker starts a worker. in.remove stops the worker after the pollers.
func (in *installation) startWorker(args ...string) (*process, error) {
	worker, err := startProcess(in.env, in.program("worker"), args...)
	if err == nil {
		in.atEnd(func(context.Context) error { return worker.stop() })
	}
	return worker, err
}

func (in *installation) startPollers(ctx context.Context) error {
	if err := in.command(ctx, in.program("starter"), "poller", "start"); err != nil {
		return err
	}
	in.atEnd(func(ctx context.Context) error {
		return errors.Join(in.command(ctx, in.program("starter"), "poller", "stop"), in.endWorkflows(ctx))
	})
	return nil
}

// program returns the path of a program.
func (in *installation) program(name string) string { return filepath.Join(in.programs, name) }

// command runs a program with the installation's settings.
func (in *installation) command(ctx context.Context, program string, args ...string) error {
	return runCommand(ctx, in.env, program, args...)
}

const sandbox = "herald/tools/sandbox/cmd/sandbox"

// build builds the programs into a folder.
func build(ctx context.Context, dir string) error {
	return runCommand(ctx, nil, "go", "build", "-o", dir, "herald/worker", "herald/starter", sandbox)
}

// buildRevision builds the programs of another commit, and the current sandbox, into a folder.
func buildRevision(ctx context.Context, revision, dir string) error {
	tree, archive := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	for _, command := range [][]string{
		{"mkdir", "-p", tree},
		{"git", "archive", "--output", archive, revision},
		{"tar", "-x", "-f", archive, "-C", tree},
		{"go", "build", "-C", tree, "-o", dir, "./worker", "./starter"},
		{"go", "build", "-o", dir, sandbox},
	} {
		if err := runCommand(ctx, nil, command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// runCommand runs a program. The error quotes the program's output. If env is nil, the program
// gets the environment of this process.
func runCommand(ctx context.Context, env []string, program string, args ...string) error {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = env
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, cmp.Or(string(bytes.TrimSpace(said)), "it said nothing"))
	}
	return nil
}

// stage is the environment of a case: the programs, which are built once for all cases, and the
// output. remove deletes the things that the case created.
type stage struct {
	leftovers

	programs string // a folder with worker, starter and sandbox
	out      io.Writer
	name     string // of the case
}

// say prints progress.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.out, time.Now().Format("15:04:05 ")+s.name+": "+format+"\n", args...)
}

// install creates and migrates Herald's database, and creates a vhost. It starts no program.
func (s *stage) install(ctx context.Context) (*installation, error) {
	in, err := newInstallation(ctx, s.programs)
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return in.remove() })
	if err := in.command(ctx, in.program("starter"), "migrate", "up"); err != nil {
		return nil, err
	}
	return in, nil
}

// leftovers removes the things that a case created.
type leftovers struct {
	ends []func(ctx context.Context) error
}

// endTime limits the removal. It is long, because dropping a database waits for a checkpoint.
const endTime = 5 * time.Minute

// atEnd registers a function for remove, which calls the last registered function first.
func (l *leftovers) atEnd(remove func(ctx context.Context) error) { l.ends = append(l.ends, remove) }

// remove removes everything, also after an interrupt.
func (l *leftovers) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	var errs []error
	for _, end := range slices.Backward(l.ends) {
		errs = append(errs, end(ctx))
	}
	l.ends = nil
	return errors.Join(errs...)
}
