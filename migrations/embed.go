// Package migrations embeds the schema, for goose.
package migrations

import "embed"

// FS holds the migrations, NNNN_name.sql.
//
//go:embed *.sql
var FS embed.FS
