package report

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// MaxSearched limits the rows that one page of a list searches, if no index has the rows that match
// the filter.
const MaxSearched = 100_000

// ErrNoPlace means that no page of a list begins after a key.
var ErrNoPlace = errors.New("no page of this list begins there: begin at the first page")

// Page is a part of a list.
type Page[T any] struct {
	Rows    []T
	More    bool   // the list has more rows, or may have: see Partial
	Through string // the key after which the next page begins; empty: there is none
	Partial bool   // the search ended at [MaxSearched] before it filled the page
}

// PageOf returns the first rows, up to limit. rows has one row more than limit if the list continues.
// key returns the key of a row; nil: the list has no next page.
func PageOf[T any](rows []T, limit int, key func(T) string) Page[T] {
	page := Page[T]{Rows: rows[:min(limit, len(rows))], More: len(rows) > limit}
	if page.More && key != nil {
		page.Through = key(rows[limit-1])
	}
	return page
}

// searchedPage is [PageOf] for a search that ended at the key through; empty: it searched all rows.
func searchedPage[T any](rows []T, limit int, key func(T) string, through string) Page[T] {
	page := PageOf(rows, limit, key)
	if !page.More && through != "" {
		page.More, page.Through, page.Partial = true, through, true
	}
	return page
}

// searched returns the highest number of rows that a page searches.
func (r Reader) searched() int {
	if r.Searched > 0 {
		return r.Searched
	}
	return MaxSearched
}

// require fails with [ErrNoPlace] unless query finds a row with the key; empty: the first page.
func (r Reader) require(ctx context.Context, query, key string) error {
	if key == "" {
		return nil
	}
	found, err := db.One(ctx, r.Pool, "look for the beginning of a page", pgx.RowTo[bool], "SELECT EXISTS ("+query+" = $1)", key)
	if err == nil && !found {
		return ErrNoPlace
	}
	return err
}

// idRange is a range of ids. It is empty if the lowest is above the highest.
type idRange struct{ lowest, highest int64 }

// idsOfTime names the rows of a table that were written in a period. A zero time is no limit.
type idsOfTime struct {
	table, column string
	since, until  time.Time
}

// idsToSearch returns the ids that a page searches, in a list by ids, after the id `after`. through is
// the id after which the next page begins; empty: there is none.
//
// Transactions that overlap may take ids in another order than times. So the range begins at the
// lowest id of the first [MaxSearched] rows, and ends at the highest id of the last [MaxSearched] rows.
func (r Reader) idsToSearch(ctx context.Context, of idsOfTime, after string, isIndexed bool) (ids idRange, through string, err error) {
	query := fmt.Sprintf(`
		SELECT CASE WHEN $1::timestamptz IS NULL THEN 1
		            ELSE (SELECT coalesce(min(id), 9223372036854775807) FROM (SELECT id FROM %[1]s WHERE %[2]s >= $1 ORDER BY %[2]s LIMIT $3) t) END,
		       CASE WHEN $2::timestamptz IS NULL THEN (SELECT coalesce(max(id), 0) FROM %[1]s)
		            ELSE (SELECT coalesce(max(id), 0) FROM (SELECT id FROM %[1]s WHERE %[2]s < $2 ORDER BY %[2]s DESC LIMIT $3) t) END`, of.table, of.column)

	if ids, err = db.One(ctx, r.Pool, "read the ids to search", func(row pgx.CollectableRow) (ids idRange, err error) {
		return ids, row.Scan(&ids.lowest, &ids.highest)
	}, query, db.Optional(of.since), db.Optional(of.until), MaxSearched); err != nil {
		return ids, "", err
	}
	if after != "" {
		id, err := strconv.ParseInt(after, 10, 64)
		if err != nil || id < 1 {
			return ids, "", ErrNoPlace
		}
		ids.highest = min(ids.highest, id-1)
	}
	if lowest := ids.highest - int64(r.searched()) + 1; lowest > ids.lowest && !isIndexed {
		ids.lowest, through = lowest, strconv.FormatInt(lowest, 10)
	}
	return ids, through, nil
}
