package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"herald/internal/notification"
)

// Wrap adds the failed step to an error; nil stays nil.
func Wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, withSchema(err))
}

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Collect reads all rows of a query.
func Collect[T any](ctx context.Context, on Querier, doing string, read pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, _ := on.Query(ctx, query, args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, read)
	return found, Wrap(err, doing)
}

// One reads the first row of a query. If there is none, the error is [pgx.ErrNoRows].
func One[T any](ctx context.Context, on Querier, doing string, read pgx.RowToFunc[T], query string, args ...any) (T, error) {
	rows, _ := on.Query(ctx, query, args...) // CollectOneRow returns its error
	found, err := pgx.CollectOneRow(rows, read)
	return found, Wrap(err, doing)
}

// ByName reads the rows of one query into T. A column goes into the field with its name, in any case and
// without underscores: sent_at into SentAt. An embedded struct counts as its fields, and entity_type may
// also be Entity.Type. Fields without a column stay zero. A time is in UTC, and zero for NULL. Unlike
// pgx's functions it looks up the fields once, and not for each row, which counts for wide rows.
func ByName[T any]() pgx.RowToFunc[T] {
	var value, zero T
	var fields []any // pointers into value, by column
	return func(row pgx.CollectableRow) (_ T, err error) {
		if fields == nil {
			if fields, err = pointers(reflect.ValueOf(&value).Elem(), row.FieldDescriptions()); err != nil {
				return zero, err
			}
		}
		value = zero
		err = row.Scan(fields...)
		return value, err
	}
}

func pointers(into reflect.Value, columns []pgconn.FieldDescription) ([]any, error) {
	indexes := fieldIndexes(into.Type())
	fields := make([]any, len(columns))
	for i, column := range columns {
		index, found := indexes[strings.ReplaceAll(column.Name, "_", "")]
		if !found {
			return nil, fmt.Errorf("%s has no field for column %s", into.Type(), column.Name)
		}
		fields[i] = into.FieldByIndex(index).Addr().Interface()
		if at, ok := fields[i].(*time.Time); ok {
			fields[i] = OrZero(at)
		}
	}
	return fields, nil
}

// knownIndexes holds the results of fieldIndexes by type.
var knownIndexes sync.Map

// fieldIndexes returns the indexes of a struct's fields by their names in lower case.
func fieldIndexes(of reflect.Type) map[string][]int {
	if known, found := knownIndexes.Load(of); found {
		return known.(map[string][]int)
	}
	indexes, inner := map[string][]int{}, map[string][]int{}
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous || !field.IsExported() {
			continue
		}
		name := strings.ToLower(field.Name)
		indexes[name] = field.Index
		if field.Type.Kind() == reflect.Struct {
			for _, part := range reflect.VisibleFields(field.Type) {
				inner[name+strings.ToLower(part.Name)] = slices.Concat(field.Index, part.Index)
			}
		}
	}
	maps.Copy(inner, indexes)
	knownIndexes.Store(of, inner)
	return inner
}

// Each scans each row of a query into fields, and then calls do.
func Each(ctx context.Context, on Querier, doing string, fields []any, do func(), query string, args ...any) error {
	rows, _ := on.Query(ctx, query, args...) // ForEachRow returns its error
	_, err := pgx.ForEachRow(rows, fields, func() error { do(); return nil })
	return Wrap(err, doing)
}

// QueueEach adds a query to a batch, and handles its rows like [Each].
func QueueEach(batch *pgx.Batch, fields []any, do func(), query string, args ...any) {
	batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, fields, func() error { do(); return nil })
		return err
	})
}

// OneDelivery reads the row of a delivery, by the names of its columns. If there is none, the error is
// [notification.ErrNoDelivery].
func OneDelivery[T any](ctx context.Context, on Querier, doing, query string, args ...any) (T, error) {
	found, err := One(ctx, on, doing, ByName[T](), query, args...)
	return found, NoRowsAs(err, notification.ErrNoDelivery)
}

// MaxRowsPerEventType limits the rows that one event type makes a worker hold. It is far
// above what a person would configure.
const MaxRowsPerEventType = 1000

// QueueInto adds a query and reads its rows into a slice.
func QueueInto[T any](batch *pgx.Batch, into *[]T, read pgx.RowToFunc[T], query string, args ...any) {
	batch.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, read)
		return err
	})
}

// IgnoreNoRows returns nil for [pgx.ErrNoRows].
func IgnoreNoRows(err error) error { return NoRowsAs(err, nil) }

// NoRowsAs returns another error for [pgx.ErrNoRows].
func NoRowsAs(err, other error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return other
	}
	return err
}

// QueueCounts adds a query that counts rows by a key.
func QueueCounts[K ~string](batch *pgx.Batch, into map[K]int, query string, args ...any) {
	var key K
	var count int
	QueueEach(batch, []any{&key, &count}, func() { into[key] = count }, query, args...)
}

// MostCounted is the highest result of a count, which limits its cost for the database.
const MostCounted = 100_000

// Optional returns nil for a zero value.
func Optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// OrZero scans a time in UTC; NULL is the zero time.
func OrZero(at *time.Time) pgtype.TimestamptzScanner { return orZero{at} }

type orZero struct{ at *time.Time }

func (z orZero) ScanTimestamptz(read pgtype.Timestamptz) error {
	if *z.at = (time.Time{}); read.Valid {
		*z.at = read.Time.UTC()
	}
	return nil
}
