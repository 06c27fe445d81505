// Package migrations embeds the schema, for goose.
package migrations

import "embed"

// FS holds the migrations, NNNN_name.sql.
//
//go:embed [0-9]*.sql
var FS embed.FS
