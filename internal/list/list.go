// Package list reads the lists of operators page by page: events, deliveries, what operators did,
// suppressions, what was decided about a person and what they chose. A list is a spec, and a page is
// one statement with only the conditions of its filter. It writes nothing, and it reads no address and
// no text of a notification.
package list

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/db"
)

// Reader reads pages. It is safe for concurrent use.
type Reader struct {
	Pool     *pgxpool.Pool
	Searched int // the rows that one page searches; 0: [MaxSearched]
}

// MaxSearched limits the rows that one page searches, if no index has the rows that match the filter.
const MaxSearched = 100_000

// ErrNoPlace means that no page of a list begins after a key.
var ErrNoPlace = errors.New("no page of this list begins there: begin at the first page")

// Place is where a page begins, and how long it may be.
type Place struct {
	After string // a key of the list; empty: the first page
	Limit int
}

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

// spec is a list: where its rows come from, and their order.
type spec[T any] struct {
	doing   string // for errors: read events
	columns string // the fields of T
	from    string
	order   order
	key     func(T) string // the key of a row, after which a page may begin; nil: the list has one page
}

// conditions select rows.
type conditions []condition

type condition struct {
	sql    string
	params pgx.NamedArgs
}

// param matches a parameter in a condition.
var param = regexp.MustCompile(`@\w+`)

// where returns a condition on the value of the parameter that it names: n.event_id = @event_id. A zero
// value, such as a filter's empty field, is no condition.
func where(sql string, value any) conditions {
	if reflect.ValueOf(value).IsZero() {
		return nil
	}
	return conditions{{sql, pgx.NamedArgs{param.FindString(sql)[1:]: value}}}
}

// write returns the WHERE clause, and its parameters.
func (c conditions) write() (string, pgx.NamedArgs) {
	clause, params := "WHERE  true", pgx.NamedArgs{}
	for _, each := range c {
		clause += "\n\t\tAND    (" + each.sql + ")"
		maps.Copy(params, each.params)
	}
	return clause, params
}

// plannedForItsValues lets Postgres plan each query for its parameters. A plan for any values would not
// use the index of PENDING events, and would sort all deliveries of a broadcast for each page.
const plannedForItsValues = pgx.QueryExecModeCacheDescribe

// read reads the rows that the conditions select, up to limit.
func (s spec[T]) read(ctx context.Context, r Reader, selected conditions, limit int) ([]T, error) {
	clause, params := selected.write()
	params["limit"] = limit
	query := fmt.Sprintf(`
		SELECT %s
		FROM   %s
		%s
		ORDER BY %s
		LIMIT  @limit`, s.columns, s.from, clause, s.order)
	return db.Collect(ctx, r.Pool, s.doing, db.ByName[T](), query, plannedForItsValues, params)
}

// page reads the page at a place. The rows that the conditions select are in a part of the list.
func (s spec[T]) page(ctx context.Context, r Reader, selected conditions, in part, from Place) (Page[T], error) {
	w, err := s.order.window(ctx, r, in, from.After)
	if err != nil {
		return Page[T]{}, err
	}
	rows, err := s.read(ctx, r, slices.Concat(selected, w.conditions), from.Limit+1)
	page := PageOf(rows, from.Limit, s.key)
	if !page.More && w.through != "" {
		page.More, page.Through, page.Partial = true, w.through, true
	}
	return page, err
}
