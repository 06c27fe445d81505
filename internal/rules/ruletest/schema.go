package ruletest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/migrations"
)

const (
	// schemaPrefix begins the name of each schema of tests. The time of its creation follows, and a
	// random word.
	schemaPrefix = "herald_rules_test_"
	schemaTime   = "20060102150405"
	// schemaLife is the age at which a schema counts as left behind by a run that was killed.
	schemaLife = time.Hour
	// dropTimeout limits the time to drop a schema after an interrupt.
	dropTimeout = time.Minute
)

// schema is a schema with Herald's tables, which only one run uses.
type schema struct {
	*db.DB // its connections see no other schema
	name   string
	in     *db.DB
}

// newSchema creates a schema in a database, and drops the schemas that killed runs left behind.
func newSchema(ctx context.Context, in *db.DB) (*schema, error) {
	if err := mayCreate(ctx, in); err != nil {
		return nil, err
	}
	if err := dropOld(ctx, in); err != nil {
		return nil, err
	}
	s := &schema{in: in, name: schemaPrefix + time.Now().UTC().Format(schemaTime) + "_" + strings.ToLower(rand.Text()[:8])}
	config := in.Pool.Config()
	config.MaxConns, config.MinConns = 2, 0
	config.ConnConfig.RuntimeParams["search_path"] = s.name
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off" // a crash loses a schema that is dropped anyway
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, db.Wrap(err, "open the schema of the tests")
	}
	s.DB = &db.DB{Pool: pool}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.drop(ctx))
	}
	return s, nil
}

// mayCreate returns an error if the role may not create schemas.
func mayCreate(ctx context.Context, in *db.DB) error {
	const query = "SELECT current_user::text, current_database()::text, has_database_privilege(current_database(), 'CREATE')"

	var role, database string
	var may bool
	if err := in.Pool.QueryRow(ctx, query).Scan(&role, &database, &may); err != nil {
		return db.Wrap(err, "prepare the tests")
	}
	if may {
		return nil
	}
	return &migrate.SchemaError{
		Problem: fmt.Sprintf("the tests need a separate schema, and role %s may not create schemas in database %s", role, database),
		Remedy: fmt.Sprintf("as the owner of the database: GRANT CREATE ON DATABASE %s TO %s; or set DATABASE_URL to a database for tests",
			quote(database), quote(role)),
	}
}

// dropOld drops the schemas of runs that were killed.
func dropOld(ctx context.Context, in *db.DB) error {
	const query = `
		SELECT nspname::text
		FROM   pg_namespace
		WHERE  starts_with(nspname, $1)
		AND    pg_has_role(nspowner, 'USAGE')
		LIMIT  100`

	names, err := db.Collect(ctx, in.Pool, "look for old schemas of tests", pgx.RowTo[string], query, schemaPrefix)
	for _, name := range names {
		created, _, _ := strings.Cut(strings.TrimPrefix(name, schemaPrefix), "_")
		at, parseErr := time.Parse(schemaTime, created)
		if err == nil && parseErr == nil && time.Since(at) > schemaLife {
			err = in.Exec(ctx, "drop an old schema of tests", "DROP SCHEMA IF EXISTS "+quote(name)+" CASCADE")
		}
	}
	return err
}

func (s *schema) migrate(ctx context.Context) error {
	migrator, err := migrate.New(ctx, s.Pool, migrations.FS)
	if err != nil {
		return err
	}
	defer func() { _ = migrator.Close() }()
	_, err = migrator.Up(ctx)
	return err
}

// drop drops the schema, also after an interrupt.
func (s *schema) drop(ctx context.Context) error {
	s.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return s.in.Exec(ctx, "drop the schema of the tests", "DROP SCHEMA IF EXISTS "+quote(s.name)+" CASCADE")
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
