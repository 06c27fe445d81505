package check

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
	"herald/internal/db/migrate"
)

// schemaFact is the schema compared with the migrations of this build, or a setting that can lose a
// commit.
type schemaFact struct {
	gap       migrate.Gap
	err       error // why they were not compared
	isReplica bool
	lossy     *db.LossyCommit
}

// Schema compares the schema with the migrations of this build, and checks that the server keeps
// commits. If the database does not answer or lacks migrations, it is not usable, and the other
// subjects in it cannot be checked.
func Schema(ctx context.Context, on *db.DB, files fs.FS) (subject Subject, usable bool) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	gap, err := migrate.Compare(ctx, on, files)
	if db.MayNotRead(err) {
		err = nil // a worker's role; the other subjects find missing tables
	}
	return Subject{"schema", func(ctx context.Context) ([]Mistake, error) {
		facts, err := serverFacts(ctx, on, schemaFact{gap: gap, err: err})
		mistakes, _ := evaluate(ctx, facts, schemaFindings) // where never fails
		return mistakes, err
	}}, err == nil && len(gap.Missing) == 0
}

// serverFacts adds what the server tells, if it answers.
func serverFacts(ctx context.Context, on *db.DB, schema schemaFact) ([]schemaFact, error) {
	if schema.err != nil {
		return []schemaFact{schema}, nil
	}
	err := on.RequirePrimary(ctx)
	schema.isReplica = errors.As(err, new(*db.ReplicaError))
	facts := []schemaFact{schema}
	if err != nil && !schema.isReplica {
		return facts, err
	}
	lossy, err := on.LossyCommits(ctx)
	for _, commit := range lossy {
		facts = append(facts, schemaFact{lossy: &commit})
	}
	return facts, err
}

const (
	databaseSetting = "setting DATABASE_URL"
	lossySetting    = "setting synchronous_commit"
	lossyCommits    = "it is off: a crash of the server can lose an event, or forget a sent message, which Herald then sends twice"
	schemaPlace     = "the schema"
	migrateUp       = "run `starter migrate up`"
)

var schemaFindings = []finding[[]schemaFact]{
	{place: databaseSetting, find: where(func(f schemaFact) bool { return f.isReplica }),
		problem: "it leads to a read replica, where Herald can write nothing",
		remedy:  db.ReplicaRemedy},
	{place: lossySetting, find: where(func(f schemaFact) bool { return f.lossy != nil && f.lossy.Role == "" }),
		problem: lossyCommits,
		remedy:  "switch it on for Herald's role and database, and leave it out of DATABASE_URL; its value comes from: $source"},
	{place: lossySetting, row: "of role $role", find: where(func(f schemaFact) bool { return f.lossy != nil && f.lossy.Role != "" }),
		problem: lossyCommits,
		remedy:  "run `ALTER ROLE $role RESET synchronous_commit`, without and with IN DATABASE"},
	{place: schemaPlace, find: where(schemaFact.isInTheWay),
		problem: "$why",
		remedy:  "$remedy"},
	{place: databaseSetting, find: where(func(f schemaFact) bool { return f.err != nil && !f.isInTheWay() && db.LoginRefused(f.err) }),
		problem: "the database refuses the login: $why",
		remedy:  "$remedy"},
	{place: databaseSetting, find: where(func(f schemaFact) bool { return f.err != nil && !f.isInTheWay() && !db.LoginRefused(f.err) }),
		problem: "the database does not answer: $why",
		remedy:  "$remedy"},
	{place: schemaPlace, find: where(func(f schemaFact) bool { return f.err == nil && f.gap.Empty }),
		problem: "the database has no tables of Herald's",
		remedy:  migrateUp},
	{place: schemaPlace, find: where(func(f schemaFact) bool { return !f.gap.Empty && len(f.gap.Missing) > 0 }),
		problem: "it is behind this build by $missing migrations, the first is $first",
		remedy:  migrateUp},
	{place: schemaPlace, find: where(func(f schemaFact) bool { return len(f.gap.Ahead) > 0 }),
		problem: "it is ahead of this build, which does not know version $last",
		remedy:  "run a build that knows it, or revert the migration with the newer build: `starter migrate down`"},
}

func (f schemaFact) isInTheWay() bool { return errors.As(f.err, new(*migrate.SchemaError)) }

func (f schemaFact) args() args {
	a := args{"missing": strconv.Itoa(len(f.gap.Missing))}
	if len(f.gap.Missing) > 0 {
		a["first"] = f.gap.Missing[0]
	}
	if known := len(f.gap.Ahead); known > 0 {
		a["last"] = strconv.FormatInt(f.gap.Ahead[known-1], 10)
	}
	if f.lossy != nil {
		a["role"], a["source"] = f.lossy.Role, f.lossy.Source
	}
	if refused, is := errors.AsType[*migrate.SchemaError](f.err); is {
		a["why"], a["remedy"] = refused.Problem, refused.Remedy
	} else if f.err != nil {
		a["why"], a["remedy"] = unreachable(f.err), db.ConnectRemedy(f.err)
	}
	return a
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
