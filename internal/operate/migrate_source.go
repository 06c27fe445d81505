package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/advice"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
)

// MigrateSource creates the indexes that the dialect needs and that the table of another service
// lacks, and returns them. It calls begun before each index: an index on a large table takes long.
// It changes nothing else in the table.
func (o *Operator) MigrateSource(ctx context.Context, config outboxes.Source, begun func(dialects.Index)) ([]dialects.Index, error) {
	table, err := dialects.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	missing, err := table.MissingIndexes(ctx)
	if err != nil || len(missing) == 0 {
		return nil, ofSource(err, seeCheck(config))
	}
	var names, statements []string
	for _, index := range missing {
		names, statements = append(names, index.Name), append(statements, index.Statement)
	}
	if err := o.Record(ctx, fmt.Sprintf("source %s: %s", config.Name, strings.Join(names, ", ")), config.Table); err != nil {
		return nil, err
	}
	if err := table.CreateIndexes(ctx, missing, begun); err != nil {
		return nil, ofSource(err, "have the table's owner run: "+strings.Join(statements, "; "))
	}
	return missing, nil
}

// ofSource adds advice to an error of a source's database. refused is the advice if the database
// refuses a statement.
func ofSource(err error, refused string) error {
	var statement *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, dialects.ErrMigrating):
		return advice.With(err, "wait until it is done, and run it again")
	case errors.As(err, &connect):
		return advice.With(err, "start the database, or set the variable of its URL (`database_url_env:`, else DATABASE_URL) to where it is")
	case errors.As(err, &statement):
		return advice.With(err, refused)
	default:
		return err
	}
}

func seeCheck(source outboxes.Source) string {
	return fmt.Sprintf("see `starter source check %s`", source.Name)
}
