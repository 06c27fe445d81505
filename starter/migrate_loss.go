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
// table that later ones are of.
var dropped = regexp.MustCompile(`(?i)\bALTER TABLE (\w+)|\bDROP TABLE (?:IF EXISTS )?(\w+)|\bDROP COLUMN (?:IF EXISTS )?(\w+)`)

// maxLossCount bounds the counting before a migration is taken back.
const maxLossCount = 100_000

// lossesOf says which tables and columns go when a migration is taken back, and
// how many rows have something in them.
func lossesOf(ctx context.Context, db *postgres.Store, source string) ([]string, error) {
	_, down, _ := strings.Cut(source, "-- +goose Down")
	var losses []string
	table := ""
	for _, found := range dropped.FindAllStringSubmatch(down, -1) {
		var count int
		var err error
		switch {
		case found[1] != "":
			table = found[1]
			continue
		case found[2] != "":
			count, err = db.CountRows(ctx, found[2], "", maxLossCount+1)
			losses = append(losses, "table "+found[2]+" ("+rowCount(count)+")")
		default:
			count, err = db.CountRows(ctx, table, found[3], maxLossCount+1)
			losses = append(losses, "column "+table+"."+found[3]+" ("+rowCount(count)+")")
		}
		if err != nil {
			return nil, fmt.Errorf("count what would go: %w", err)
		}
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
