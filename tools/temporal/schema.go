package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

// postgresTimeout is how long a start waits for Postgres, which may be starting too.
const postgresTimeout = 60 * time.Second

// migrate creates the databases that are missing and brings their tables to
// this server's version. It can be repeated, also after being killed halfway.
func migrate(ctx context.Context, s Settings) error {
	quiet := log.NewNoopLogger() // it would name each file and each statement
	for database, tables := range map[string]string{
		s.Database:           "postgresql/v12/temporal",
		s.VisibilityDatabase: "postgresql/v12/visibility",
	} {
		create := func(context.Context) error {
			return sql.DoCreateDatabase(sqlConfig(s, database), "", quiet)
		}
		if err := eventually(ctx, postgresTimeout, create); err != nil {
			return fmt.Errorf("create database %s: %w", database, err)
		}
		if err := migrateTables(s, database, tables, quiet); err != nil {
			return fmt.Errorf("migrate database %s: %w", database, err)
		}
	}
	return nil
}

func migrateTables(s Settings, database, tables string, logger log.Logger) error {
	db, err := sql.NewConnection(sqlConfig(s, database), logger)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer db.Close()

	setup := &schema.SetupConfig{InitialVersion: "0.0"}
	if err := schema.NewSetupSchemaTask(db, setup, logger).Run(); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	update := &schema.UpdateConfig{SchemaName: tables}
	if err := schema.NewUpdateSchemaTask(db, update, logger).Run(); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}
