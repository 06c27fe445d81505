package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"herald/tools/testbed"
)

// installation is Herald on the local stack, with a separate database, vhost and topics.
type installation struct {
	testbed.Leftovers

	name     string
	dir      string // folder of its files
	programs string // the folder of worker, starter and sandbox
	env      []string
	worker   *testbed.Process
	provider *testbed.Process // the sandbox; nil: none
	vhost    string           // URL of the vhost
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
			err = errors.Join(err, in.Remove())
		}
	}()
	if in.dir, err = os.MkdirTemp("", "herald-bench-"); err != nil {
		return in, err
	}
	in.AtEnd(func(context.Context) error { return os.RemoveAll(in.dir) })
	database, err := in.createDatabase(ctx)
	if err != nil {
		return in, err
	}
	if in.vhost, err = in.CreateVHost(ctx, in.name); err != nil {
		return in, err
	}
	in.env = append(os.Environ(), "DATABASE_URL="+database, "RABBITMQ_URL="+in.vhost, "TASK_QUEUE_PREFIX="+in.name,
		"OUTBOX_SOURCES=", "HERALD_SECRET="+secret, "WORKER_HTTP_ADDR=127.0.0.1:0")
	return in, nil
}

func (in *installation) createDatabase(ctx context.Context) (address string, err error) {
	if address, err = in.CreateDatabase(ctx, in.name); err != nil {
		return "", err
	}
	if in.db, err = pgxpool.New(ctx, address); err != nil {
		return "", err
	}
	in.AtEnd(func(context.Context) error { in.db.Close(); return nil })
	_, err = in.db.Exec(ctx, "CREATE SCHEMA bench")
	return address, err
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
func (in *installation) startWorker(args ...string) (*testbed.Process, error) {
	worker, err := testbed.Start(in.env, in.program("worker"), args...)
	if err == nil {
		in.AtEnd(func(context.Context) error { return worker.Stop() })
	}
	return worker, err
}

func (in *installation) startPollers(ctx context.Context) error {
	if err := in.command(ctx, in.program("starter"), "poller", "start"); err != nil {
		return err
	}
	in.AtEnd(func(ctx context.Context) error {
		return errors.Join(in.command(ctx, in.program("starter"), "poller", "stop"), testbed.EndWorkflows(ctx, in.name))
	})
	return nil
}

// program returns the path of a program.
func (in *installation) program(name string) string { return filepath.Join(in.programs, name) }

// command runs a program with the installation's settings.
func (in *installation) command(ctx context.Context, program string, args ...string) error {
	return testbed.Run(ctx, in.env, program, args...)
}

const sandbox = "herald/tools/sandbox/cmd/sandbox"

// build builds the programs into a folder.
func build(ctx context.Context, dir string) error {
	return testbed.Run(ctx, nil, "go", "build", "-o", dir, "herald/worker", "herald/starter", sandbox)
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
		if err := testbed.Run(ctx, nil, command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// stage is the environment of a case: the programs, which are built once for all cases, and the
// output. remove deletes the things that the case created.
type stage struct {
	testbed.Leftovers

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
	s.AtEnd(func(context.Context) error { return in.Remove() })
	if err := in.command(ctx, in.program("starter"), "migrate", "up"); err != nil {
		return nil, err
	}
	return in, nil
}
