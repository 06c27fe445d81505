package main

import (
	"context"

	"github.com/caarlos0/env/v11"

	"herald/internal/config"
	"herald/internal/health"
	"herald/internal/postgres"
	"herald/internal/signin"
	"herald/internal/wiring"
	"herald/migrations"
)

// readSettings reads all settings of an environment, those of who may sign in included.
func readSettings(environment []string) (cfg config.Gateway, who signin.Settings, err error) {
	cfg, err = config.GatewayFrom(env.ToMap(environment), who.Read, wiring.New().Read)
	return cfg, who, err
}

// awaitDatabase waits until the database answers, has the schema of this build, and has
// agreed on the secret. It fails if the database knows another one.
func awaitDatabase(ctx context.Context, db *postgres.Store) error {
	return health.Await(ctx, "the database, or for its schema", func(ctx context.Context) error {
		if err := db.Current(ctx, migrations.FS); err != nil {
			return err
		}
		return db.AgreeOnSecret(ctx)
	})
}
