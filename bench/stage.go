package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// stage is what a case finds: the programs, which are built once for all cases, and where to
// say what goes on. What a case makes is removed at its end.
type stage struct {
	leftovers

	programs string // a folder with worker and starter
	out      io.Writer
	name     string // of the case
}

// say prints progress.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.out, time.Now().Format("15:04:05 ")+s.name+": "+format+"\n", args...)
}

// install makes Herald's database, migrated, and a vhost. Nothing runs in it yet.
func (s *stage) install(ctx context.Context) (*installation, error) {
	in, err := newInstallation(ctx, s.programs)
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return in.remove() })
	if err := in.command(ctx, in.program("starter"), "migrate", "up"); err != nil {
		return nil, err
	}
	// The view shows all databases of the server. Without the extension there are no counts of statements.
	_, _ = in.db.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA bench")
	return in, nil
}
