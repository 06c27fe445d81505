package list

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// order sorts a list by columns that no two rows share. The key of a row, after which a page may begin, is
// its name or its id.
type order struct {
	by          string
	newestFirst bool
	table       string // has these columns: event_outbox e
	name, noun  string // the column of the names: e.event_id; a row: event. Empty: keys are ids
	time        string // if keys are ids: the column with the time of writing
}

func (o order) String() string {
	if o.newestFirst {
		return strings.ReplaceAll(o.by, ",", " DESC,") + " DESC"
	}
	return o.by
}

// part is the part of a list that has the rows of a filter.
type part struct {
	within       conditions // if keys are names: the rows of the part
	since, until time.Time  // if keys are ids: when the rows of the part were written; zero: no limit
	isIndexed    bool       // another index has the rows that match: a page need not search
}

// window is the part of a list that one page searches.
type window struct {
	conditions conditions
	through    string // the key of its last row; empty: it has all rows that match the filter
}

// window returns the rows of a part that a page searches, after the key `after`.
func (o order) window(ctx context.Context, r Reader, p part, after string) (window, error) {
	if o.name == "" {
		return o.idWindow(ctx, r, p, after)
	}
	var w window
	beyond, upTo := ">", "<="
	if o.newestFirst {
		beyond, upTo = "<", ">="
	}
	if after != "" {
		if err := o.require(ctx, r, after); err != nil {
			return w, err
		}
		w.conditions = conditions{o.compared(beyond, "after", after)}
	}
	if p.isIndexed {
		return w, nil
	}
	last, err := o.last(ctx, r, p.within, w.conditions)
	if last != "" {
		w = window{append(w.conditions, o.compared(upTo, "through", last)), last}
	}
	return w, err
}

// compared compares rows with the row that a parameter names.
func (o order) compared(operator, param, name string) condition {
	sql := fmt.Sprintf("(%[1]s) %[2]s (SELECT %[1]s FROM %[3]s WHERE %[4]s = @%[5]s)", o.by, operator, o.table, o.name, param)
	return condition{sql, pgx.NamedArgs{param: name}}
}

// require fails with [ErrNoPlace] unless a row has the name.
func (o order) require(ctx context.Context, r Reader, name string) error {
	query := fmt.Sprintf("SELECT EXISTS (SELECT FROM %s WHERE %s = @name)", o.table, o.name)
	found, err := db.One(ctx, r.Pool, "look for the beginning of a page", pgx.RowTo[bool], query, pgx.NamedArgs{"name": name})
	if err == nil && !found {
		return ErrNoPlace
	}
	return err
}

// last returns the name of the last row that a page searches; empty: it searches all rows. The inner
// query needs only the columns of an index.
func (o order) last(ctx context.Context, r Reader, within, after conditions) (string, error) {
	inner, params := slices.Concat(within, after).write()
	outer, _ := within.write()
	params["skipped"] = r.searched() - 1
	query := fmt.Sprintf(`
		SELECT %[1]s
		FROM   %[2]s
		%[3]s
		AND    (%[4]s) = (
			SELECT %[4]s
			FROM   %[2]s
			%[5]s
			ORDER BY %[6]s
			OFFSET @skipped
			LIMIT  1)`, o.name, o.table, outer, o.by, inner, o)
	name, err := db.One(ctx, r.Pool, "read the last "+o.noun+" to search", pgx.RowTo[string], query, plannedForItsValues, params)
	return name, db.IgnoreNoRows(err)
}

// idWindow is [order.window] if keys are ids.
//
// Transactions that overlap may take ids in another order than times. So the range begins at the
// lowest id of the first [MaxSearched] rows, and ends at the highest id of the last [MaxSearched] rows.
func (o order) idWindow(ctx context.Context, r Reader, p part, after string) (w window, err error) {
	query := fmt.Sprintf(`
		SELECT CASE WHEN @since::timestamptz IS NULL THEN 1 ELSE (
		           SELECT coalesce(min(id), 9223372036854775807)
		           FROM   (SELECT id FROM %[1]s WHERE %[2]s >= @since ORDER BY %[2]s LIMIT @most) t) END,
		       CASE WHEN @until::timestamptz IS NULL THEN (SELECT coalesce(max(id), 0) FROM %[1]s) ELSE (
		           SELECT coalesce(max(id), 0)
		           FROM   (SELECT id FROM %[1]s WHERE %[2]s < @until ORDER BY %[2]s DESC LIMIT @most) t) END`, o.table, o.time)

	var lowest, highest int64
	params := pgx.NamedArgs{"since": db.Optional(p.since), "until": db.Optional(p.until), "most": MaxSearched}
	if err := r.Pool.QueryRow(ctx, query, params).Scan(&lowest, &highest); err != nil {
		return w, db.Wrap(err, "read the ids to search")
	}
	if after != "" {
		id, err := strconv.ParseInt(after, 10, 64)
		if err != nil || id < 1 {
			return w, ErrNoPlace
		}
		highest = min(highest, id-1)
	}
	if first := highest - int64(r.searched()) + 1; first > lowest && !p.isIndexed {
		lowest, w.through = first, strconv.FormatInt(first, 10)
	}
	w.conditions = conditions{{"id BETWEEN @lowest AND @highest", pgx.NamedArgs{"lowest": lowest, "highest": highest}}}
	return w, nil
}

func (r Reader) searched() int { return cmp.Or(r.Searched, MaxSearched) }
