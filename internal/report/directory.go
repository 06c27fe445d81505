package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
	"herald/internal/notification"
)

// MostLookedAt limits the rows of one table that a search for mistakes reads.
const MostLookedAt = 100_000

// Relation is a table, or a view that replaces one.
type Relation struct {
	View    bool
	Columns map[string]string // types by name
}

// Relation describes a table that the search_path finds. Without columns, it does not
// exist.
func (r Reader) Relation(ctx context.Context, name string) (Relation, error) {
	const query = `
		SELECT a.attname AS name,
		       format_type(a.atttypid, NULL) AS type,
		       c.relkind NOT IN ('r', 'p') AS view
		FROM   pg_class c
		JOIN   pg_attribute a ON a.attrelid = c.oid
		WHERE  c.oid = to_regclass($1)
		AND    a.attnum > 0
		AND    NOT a.attisdropped`

	type column struct {
		Name, Type string
		View       bool
	}
	columns, err := db.Collect(ctx, r.Pool, "read columns of "+name, pgx.RowToStructByName[column], query, name)
	relation := Relation{Columns: map[string]string{}}
	for _, c := range columns {
		relation.View, relation.Columns[c.Name] = c.View, c.Type
	}
	return relation, err
}

// CastError means that a column cannot be cast to the type that Herald needs.
type CastError struct {
	Values bool   // some values cannot be cast; false: the type cannot
	Code   string // SQLSTATE
}

func (e *CastError) Error() string {
	if e.Values {
		return "some of its values cannot be cast (SQLSTATE " + e.Code + ")"
	}
	return "its type cannot be cast (SQLSTATE " + e.Code + ")"
}

// Cast casts the values of a column as planning does. If that fails, the error is a
// [CastError], which quotes no value.
func (r Reader) Cast(ctx context.Context, table, column, wanted string) error {
	query := fmt.Sprintf("SELECT count(c::%s) FROM (SELECT %s AS c FROM %s LIMIT $1) AS looked_at",
		wanted, pgx.Identifier{column}.Sanitize(), pgx.Identifier{table}.Sanitize())
	var count int
	err := r.Pool.QueryRow(ctx, query, MostLookedAt).Scan(&count)
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Code == "42846": // cannot_coerce
		return &CastError{Code: refused.Code}
	case errors.As(err, &refused) && refused.Code[:2] == "22": // data_exception
		return &CastError{Values: true, Code: refused.Code}
	default:
		return fmt.Errorf("read %s of %s: %w", column, table, err)
	}
}

// IDFlaws counts rows whose keys no delivery can have.
type IDFlaws struct {
	NoType    int // user type is NULL or empty
	NoID      int
	LongID    int // too long for a workflow ID
	UnshownID int // with control characters
	Twice     int // users with several rows
}

// IDFlaws checks the keys of the users in a table of the directory. Users may have several
// devices and memberships, so only recipient is checked for duplicates.
func (r Reader) IDFlaws(ctx context.Context, table string) (IDFlaws, error) {
	query := `
		SELECT count(*) FILTER (WHERE coalesce(user_type, '') = '') AS no_type,
		       count(*) FILTER (WHERE coalesce(user_id, '') = '') AS no_id,
		       count(*) FILTER (WHERE octet_length(user_id) > 64) AS long_id,
		       count(*) FILTER (WHERE user_id ~ '[[:cntrl:]]') AS unshown_id,
		       CASE WHEN $1 = 'recipient' THEN count(user_id) - count(DISTINCT (user_type, user_id)) FILTER (WHERE user_id IS NOT NULL) ELSE 0 END
		           AS twice
		FROM  (SELECT user_type::text, user_id::text FROM ` + pgx.Identifier{table}.Sanitize() + ` LIMIT $2) AS looked_at`

	return db.One(ctx, r.Pool, "read the ids of "+table, pgx.RowToStructByName[IDFlaws], query, table, MostLookedAt)
}

// ValueCount counts the rows that have a value.
type ValueCount struct {
	Value string
	Count int
}

// mostValues limits the different values that are listed.
const mostValues = 1000

// Values counts the rows of each value of a column. NULL and the empty text do not count.
func (r Reader) Values(ctx context.Context, table, column string) ([]ValueCount, error) {
	query := `
		SELECT value, count(*) AS count
		FROM  (SELECT ` + pgx.Identifier{column}.Sanitize() + `::text AS value FROM ` + pgx.Identifier{
		table,
	}.Sanitize() + ` LIMIT $1) AS looked_at
		WHERE  value <> ''
		GROUP BY value
		ORDER BY count DESC, value
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read values of "+table, pgx.RowToStructByName[ValueCount], query, MostLookedAt, mostValues)
}

// PersonAddress is an active person's address.
type PersonAddress struct {
	Person, Address string // Person is CUSTOMER/42
}

// Addresses calls do for the addresses in a column of recipient that are not empty, of [MostLookedAt]
// people. do must not keep or show them.
func (r Reader) Addresses(ctx context.Context, column string, do func(PersonAddress)) error {
	query := `
		SELECT user_type || '/' || user_id, address
		FROM  (SELECT user_type::text, user_id::text, active::boolean, ` + pgx.Identifier{
		column,
	}.Sanitize() + `::text AS address FROM recipient LIMIT $1) AS looked_at
		WHERE  active
		AND    address <> ''
		AND    user_type || user_id IS NOT NULL
		ORDER BY user_type, user_id`

	var found PersonAddress
	return db.Each(ctx, r.Pool, "read addresses", []any{&found.Person, &found.Address}, func() { do(found) }, query, MostLookedAt)
}

// URLBase is the scheme and the host of URLs.
type URLBase struct {
	Base   string
	Count  int      // of people
	People []string // up to three, as CUSTOMER/42
}

// URLBases counts the recipients by the scheme and host of the URLs in a column. A URL without them
// counts as "?". The rest of a URL is a secret, and stays in the database.
func (r Reader) URLBases(ctx context.Context, column string) ([]URLBase, error) {
	query := `
		SELECT coalesce(substring(url FROM '^\s*([a-zA-Z]+://[A-Za-z0-9.:\[\]-]+)(?=/|$)'), '?') AS base,
		       count(*) AS count,
		       (array_agg(person ORDER BY person))[:3] AS people
		FROM  (SELECT concat(user_type::text, '/', user_id::text) AS person, ` + pgx.Identifier{
		column,
	}.Sanitize() + `::text AS url FROM recipient LIMIT $1) AS looked_at
		WHERE  url ~ '\S'
		GROUP BY base
		ORDER BY count DESC, base
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read the hosts in "+column, pgx.RowToStructByName[URLBase], query, MostLookedAt, mostValues)
}

// maxUserTypes is the number of user types that an error names.
const maxUserTypes = 50

// CheckUserType refuses a user type that does not exist; empty: none was named. The error
// is a [notification.UnknownUserTypeError].
func CheckUserType(ctx context.Context, on db.Querier, userType notification.UserType) error {
	const query = `
		SELECT user_type
		FROM   user_type
		ORDER BY user_type = $1 DESC, user_type
		LIMIT  $2`

	if userType == "" {
		return nil
	}
	known, err := db.Collect(ctx, on, "read user types", pgx.RowTo[notification.UserType], query, userType, maxUserTypes)
	switch {
	case err != nil:
		return err
	case !slices.Contains(known, userType):
		return &notification.UnknownUserTypeError{UserType: userType, Known: known}
	}
	return nil
}

// RecipientPrefixes reads the beginnings of recipient names, such as CUSTOMER/, that begin
// with prefix in any case, up to limit.
func (r Reader) RecipientPrefixes(ctx context.Context, prefix string, limit int) ([]string, error) {
	const query = `
		SELECT user_type || '/'
		FROM   user_type
		WHERE  starts_with(user_type || '/', upper($1))
		ORDER BY user_type
		LIMIT  $2`

	return db.Collect(ctx, r.Pool, "read user types", pgx.RowTo[string], query, prefix, limit)
}
