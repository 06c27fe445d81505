package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

// postgresTimeout is the time that a start waits for Postgres, which may be starting too.
const postgresTimeout = 60 * time.Second

// migrate creates the missing databases and updates their tables to this server's version. It can
// be repeated, also after a kill.
func migrate(ctx context.Context, s Settings) error {
	quiet := log.NewNoopLogger() // it would name each file and each statement
	for name, tables := range map[string]string{
		database:           "postgresql/v12/temporal",
		visibilityDatabase: "postgresql/v12/visibility",
	} {
		create := func(context.Context) error {
			return sql.DoCreateDatabase(sqlConfig(s, name), "", quiet)
		}
		if err := eventually(ctx, postgresTimeout, create); err != nil {
			return fmt.Errorf("create database %s: %w", name, err)
		}
		if err := migrateTables(s, name, tables, quiet); err != nil {
			return fmt.Errorf("migrate database %s: %w", name, err)
		}
	}
	return nil
}

func migrateTables(s Settings, name, tables string, logger log.Logger) error {
	db, err := sql.NewConnection(sqlConfig(s, name), logger)
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
