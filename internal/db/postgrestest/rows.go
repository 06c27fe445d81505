package postgrestest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// Row is a row of a table, such as [Recipient] or [Event]. A field that is zero takes the
// default in its tag, or the column's default. The defaults fit together: event evt-1 of type T is
// about customer 42, and the route of T is e-mail. Rows about groups and wishes belong to staff 10,
// who works at restaurant 5.
type Row interface{ table() string }

// implying is a row whose fields imply more columns.
type implying interface{ implied() columns }

type columns = map[string]any

// Expressions maps columns to SQL expressions, in which i is the number of the row.
type Expressions map[string]string

// Executor is a pool, a connection or a transaction.
type Executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Add inserts rows, in their order.
func Add(t testing.TB, on Executor, rows ...Row) {
	t.Helper()
	for _, row := range rows {
		AddMany(t, on, 1, row, nil)
	}
}

// AddMissing inserts the rows whose keys do not exist.
func AddMissing(t testing.TB, on Executor, rows ...Row) {
	t.Helper()
	for _, row := range rows {
		sql, args := statement(1, row, nil)
		_, err := on.Exec(t.Context(), sql+" ON CONFLICT DO NOTHING", args...)
		require.NoError(t, err)
	}
}

// AddMany inserts n rows in one statement. They are like the row, but the expressions replace its
// columns.
func AddMany(t testing.TB, on Executor, n int, row Row, replaced Expressions) {
	t.Helper()
	sql, args := statement(n, row, replaced)
	_, err := on.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// AddDelivery inserts a delivery as [AddMany] does, and returns the id of its row.
func AddDelivery(t testing.TB, on interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, row Delivery, replaced Expressions) (id int64) {
	t.Helper()
	sql, args := statement(1, row, replaced)
	require.NoError(t, on.QueryRow(t.Context(), sql+" RETURNING id", args...).Scan(&id))
	return id
}

func statement(n int, row Row, replaced Expressions) (sql string, args []any) {
	values := valuesOf(row)
	for name, expression := range replaced {
		values[name] = expression
	}
	var names, places []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		place, isReplaced := replaced[name]
		if !isReplaced {
			args = append(args, values[name])
			place = fmt.Sprint("$", len(args))
		}
		names, places = append(names, name), append(places, place)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generate_series(1, %d) AS i",
		row.table(), strings.Join(names, ", "), strings.Join(places, ", "), n), args
}

// valuesOf returns the values of a row's columns. The column of a tag such as "!active" becomes
// false if its field is true.
func valuesOf(row Row) columns {
	values := columns{}
	if row, implies := row.(implying); implies {
		maps.Copy(values, row.implied())
	}
	fields := reflect.ValueOf(row)
	for i := range fields.NumField() {
		tag := fields.Type().Field(i).Tag
		name, negated := strings.CutPrefix(tag.Get("db"), "!")
		if byDefault, has := tag.Lookup("default"); has {
			values[name] = byDefault
		}
		if !fields.Field(i).IsZero() {
			values[name] = fields.Field(i).Interface()
			if negated {
				values[name] = false
			}
		}
	}
	return values
}
