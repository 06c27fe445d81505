package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
	"herald/internal/db/migrate"
)

const migrateUp = "run `starter migrate up`"

// Schema compares the schema with the migrations of this build, and checks that the server keeps
// commits. If the database does not answer or lacks migrations, it is not usable, and the other
// subjects in it cannot be checked.
func Schema(ctx context.Context, on *db.DB, files fs.FS) (subject Subject, usable bool) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	gap, err := migrate.Compare(ctx, on, files)
	mistakes := schemaMistakes(gap, err)
	answers := err == nil || db.MayNotRead(err)
	return Subject{"schema", func(ctx context.Context) ([]Mistake, error) {
		if !answers {
			return mistakes, nil
		}
		found, err := serverMistakes(ctx, on)
		return append(found, mistakes...), err
	}}, answers && len(gap.Missing) == 0
}

// serverMistakes finds a server that takes no writes, and settings that can lose a commit.
func serverMistakes(ctx context.Context, on *db.DB) (mistakes []Mistake, err error) {
	switch err := on.RequirePrimary(ctx); {
	case errors.As(err, new(*db.ReplicaError)):
		mistakes = append(mistakes, Mistake{Place: "setting DATABASE_URL", Problem: "it leads to a read replica, where Herald can write nothing", Remedy: db.ReplicaRemedy})
	case err != nil:
		return nil, err
	}
	lossy, err := on.LossyCommits(ctx)
	for _, found := range lossy {
		m := Mistake{Place: "setting synchronous_commit", Row: "of role " + found.Role, Problem: "it is off: a crash of the server can lose an event, or forget a sent message, which Herald then sends twice",
			Remedy: "run `ALTER ROLE " + found.Role + " RESET synchronous_commit`, without and with IN DATABASE"}
		if found.Role == "" {
			m.Row, m.Remedy = "", "switch it on for Herald's role and database, and leave it out of DATABASE_URL; its value comes from: "+found.Source
		}
		mistakes = append(mistakes, m)
	}
	return mistakes, err
}

func schemaMistakes(gap migrate.Gap, err error) []Mistake {
	const place = "the schema"
	var mistakes []Mistake
	var inTheWay *migrate.SchemaError
	switch {
	case db.MayNotRead(err):
		return nil // a worker's role; the other subjects find missing tables
	case errors.As(err, &inTheWay):
		return []Mistake{{Place: place, Problem: inTheWay.Problem, Remedy: inTheWay.Remedy}}
	case db.LoginRefused(err):
		return []Mistake{{Place: "setting DATABASE_URL", Problem: "the database refuses the login: " + unreachable(err), Remedy: db.ConnectRemedy(err)}}
	case err != nil:
		return []Mistake{{Place: "setting DATABASE_URL", Problem: "the database does not answer: " + unreachable(err), Remedy: db.ConnectRemedy(err)}}
	case gap.Empty:
		return []Mistake{{Place: place, Problem: "the database has no tables of Herald's", Remedy: migrateUp}}
	case len(gap.Missing) > 0:
		mistakes = append(mistakes, Mistake{Place: place, Problem: fmt.Sprintf("it is behind this build by %d migrations, the first is %s", len(gap.Missing), gap.Missing[0]), Remedy: migrateUp})
	}
	if len(gap.Ahead) > 0 {
		mistakes = append(mistakes, Mistake{Place: place, Problem: fmt.Sprintf("it is ahead of this build, which does not know version %d", gap.Ahead[len(gap.Ahead)-1]),
			Remedy: "run a build that knows it, or revert the migration with the newer build: `starter migrate down`"})
	}
	return mistakes
}

// unreachable returns a short reason why the database did not answer. The driver's error would show
// addresses.
func unreachable(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "SQLSTATE " + refused.Code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	return "no connection"
}
