package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"herald/tools/rig"
)

// installation is Herald on the local stack: one worker process and its pollers. Its provider, if it has
// one, is the sandbox, which answers at once.
type installation struct {
	*rig.Installation

	worker *rig.Process
	kafka  *kgo.Client // nil: none
}

// stage is the environment of a case: the programs, which are built once for all cases, and the
// output. Remove deletes the things that the case created.
type stage struct {
	rig.Leftovers

	programs string // a folder with worker, starter and sandbox
	out      io.Writer
	name     string // of the case
}

// say prints progress.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.out, time.Now().Format("15:04:05 ")+s.name+": "+format+"\n", args...)
}

// install creates an installation, and starts no program.
func (s *stage) install(ctx context.Context) (*installation, error) {
	in, err := rig.NewInstallation(ctx, "bench", s.programs)
	if err != nil {
		return nil, err
	}
	s.AtEnd(func(context.Context) error { return in.Remove() })
	return &installation{Installation: in}, nil
}

// prepare creates an installation with additional settings, and starts only its sandbox.
func (s *stage) prepare(ctx context.Context, settings ...string) (*installation, error) {
	in, err := s.install(ctx)
	if err != nil {
		return nil, err
	}
	err = in.StartSandbox(ctx)
	in.Env = append(append(in.Env, "PUBLIC_URL=https://herald.example"), settings...)
	return in, err
}

// herald starts an installation with additional settings. Its worker has the arguments part, such
// as --events.
func (s *stage) herald(ctx context.Context, part []string, settings ...string) (*installation, error) {
	in, err := s.prepare(ctx, settings...)
	if err != nil {
		return nil, err
	}
	return in, in.start(ctx, part...)
}

// start starts the worker and the pollers.
func (in *installation) start(ctx context.Context, part ...string) (err error) {
	if in.worker, err = in.Start("worker", part...); err != nil {
		return err
	}
	return in.StartPollers(ctx)
}

// roundTime limits one round.
const roundTime = 10 * time.Minute

// until waits until done returns true. It fails if a program has ended.
func (in *installation) until(ctx context.Context, limit time.Duration, otherwise string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := in.Await(ctx, done)
	if err != nil && ctx.Err() != nil {
		return errors.Join(fmt.Errorf("%s: %w", otherwise, ctx.Err()), in.said())
	}
	return err
}

// said returns the worker's last output as an error.
func (in *installation) said() error {
	return fmt.Errorf("the worker said last: %s", in.worker.Output.Tail(8<<10))
}

// pace calls do n times, at a rate a second.
func pace(n, rate int, do func(i int) error) error {
	first := time.Now()
	for i := range n {
		time.Sleep(time.Until(first.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// awaitCount waits until the SQL returns at least want.
func (in *installation) awaitCount(ctx context.Context, want int, sql string, args ...any) error {
	return in.until(ctx, roundTime, "a round does not end", func() (bool, error) {
		n, err := in.Count(ctx, sql, args...)
		return n >= want, err
	})
}

const sandboxPackage = "herald/tools/sandbox/cmd/sandbox"

// build builds the programs into a folder.
func build(ctx context.Context, dir string) error {
	return rig.Run(ctx, nil, "go", "build", "-o", dir, "herald/worker", "herald/starter", sandboxPackage)
}

// buildRevision builds the programs of another commit, and the current sandbox, into a folder.
func buildRevision(ctx context.Context, revision, dir string) error {
	tree, archive := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	for _, command := range [][]string{
		{"mkdir", "-p", tree},
		{"git", "archive", "--output", archive, revision},
		{"tar", "-x", "-f", archive, "-C", tree},
		{"go", "build", "-C", tree, "-o", dir, "./worker", "./starter"},
		{"go", "build", "-o", dir, sandboxPackage},
	} {
		if err := rig.Run(ctx, nil, command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}
