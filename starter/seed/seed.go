// Package seed holds the example: its people, and a folder of rules.
package seed

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/rules"
)

//go:embed directory.sql
var directorySQL string

//go:embed rules
var files embed.FS

// Rules returns the example's folder of rules.
func Rules() (*rules.Folder, error) {
	folder, err := fs.Sub(files, "rules")
	if err != nil {
		return nil, fmt.Errorf("read the example: %w", err)
	}
	return rules.LoadFS(folder, "rules")
}

// Load loads the example, and restores changed rows, in one transaction. slackURL is the scheme and the
// host of the example's Slack webhooks. Before the commit, Load calls confirm with the number of changed
// rows, by table. An error of confirm rolls everything back.
func Load(ctx context.Context, store *db.DB, slackURL string, confirm func(ctx context.Context, changed map[string]int) error) error {
	folder, err := Rules()
	if err != nil {
		return err
	}
	return store.Change(ctx, func(tx pgx.Tx) error {
		if err := db.RunScripts(ctx, tx, []string{directorySQL}, map[string]string{"herald.slack_url": slackURL}); err != nil {
			return err
		}
		return folder.Write(ctx, tx)
	}, confirm)
}
