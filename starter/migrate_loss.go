package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"herald/internal/console"
	"herald/internal/postgres"
)

// dropped finds what the way down of a migration drops. Its first group is the
// table whose columns follow.
var dropped = regexp.MustCompile(`(?i)\bALTER TABLE (\w+)|\bDROP TABLE (?:IF EXISTS )?(\w+)|\bDROP COLUMN (?:IF EXISTS )?(\w+)`)

// maxLossCount bounds the counting before a migration is taken back.
const maxLossCount = 100_000

// lossesOf says which tables and columns go when a migration is taken back, and
// how many rows have something in them.
func lossesOf(ctx context.Context, db *postgres.Store, source string) ([]string, error) {
	_, down, _ := strings.Cut(source, "-- +goose Down")
	var losses []string
	altered := ""
	for _, found := range dropped.FindAllStringSubmatch(down, -1) {
		if found[1] != "" {
			altered = found[1]
			continue
		}
		what, table, column := "table "+found[2], found[2], found[3]
		if column != "" {
			what, table = "column "+altered+"."+column, altered
		}
		count, err := db.CountRows(ctx, table, column, maxLossCount+1)
		if err != nil {
			return nil, fmt.Errorf("count what would go: %w", err)
		}
		losses = append(losses, what+" ("+rowCount(count)+")")
	}
	return losses, nil
}

func rowCount(count int) string {
	switch {
	case count > maxLossCount:
		return "more than " + console.Grouped(maxLossCount) + " rows"
	case count == 1:
		return "1 row"
	default:
		return console.Grouped(count) + " rows"
	}
}
