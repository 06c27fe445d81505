package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// A comment on a column names each value that the column may have.
func TestCommentsNameTheValues(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	checked := 0
	for _, relation := range relations(t, s) {
		for _, c := range relation.columns {
			for _, value := range c.Values {
				require.Contains(t, c.Comment, value, "comment on %s.%s", relation.name, c.Name)
				checked++
			}
		}
	}
	require.NotZero(t, checked)
}

// relation is a table or a view.
type relation struct {
	name, comment string
	keys          []string
	view          bool
	columns       []column
}

// column is one of its columns. Default is written as in SQL.
type column struct {
	Relation, About string
	Keys            []string // which columns have no two rows with the same values
	View            bool
	Name, Type      string
	Default         string
	Required        bool
	Counted         bool
	Computed        bool
	Comment         string
	Values          []string // that a CHECK lists
}

// columnsQuery reads the columns of all relations that the migrations make.
const columnsQuery = `
	SELECT c.relname AS relation, coalesce(obj_description(c.oid), '') AS about, c.relkind = 'v' AS view,
	       ARRAY (
	           SELECT string_agg(k.attname, ', ' ORDER BY array_position(u.conkey, k.attnum))
	           FROM   pg_constraint u
	           JOIN   pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (u.conkey) AND k.attidentity = ''
	           WHERE  u.conrelid = c.oid
	           AND    u.contype IN ('p', 'u')
	           GROUP BY u.oid
	           ORDER BY u.contype, u.conname) AS keys,
	       a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
	       coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS default,
	       a.attnotnull AS required, a.attidentity <> '' AS counted, a.attgenerated <> '' AS computed,
	       coalesce(col_description(c.oid, a.attnum), '') AS comment,
	       ARRAY (
	           SELECT v[1]
	           FROM   pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''([A-Z_]+)''::text', 'g') AS v
	           WHERE  k.conrelid = c.oid
	           AND    k.contype = 'c'
	           AND    k.conkey = ARRAY [a.attnum]
	           AND    pg_get_constraintdef(k.oid) LIKE '%= ANY (ARRAY[%') AS values
	FROM   pg_class c
	JOIN   pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE  c.relnamespace = 'public'::regnamespace
	AND    c.relkind IN ('r', 'p', 'v')
	AND    c.relname !~ '^goose_|^herald_migrations$'
	ORDER BY c.relname, a.attnum`

// relations are those that Herald's migrations make, in the order of their names.
func relations(t *testing.T, s *postgres.Store) []relation {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), columnsQuery)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByName[column])
	require.NoError(t, err)
	var all []relation
	for _, c := range columns {
		require.NotEmpty(t, c.About, "there is no comment on %s", c.Relation)
		require.NotEmpty(t, c.Comment, "there is no comment on %s.%s", c.Relation, c.Name)
		if len(all) == 0 || all[len(all)-1].name != c.Relation {
			all = append(all, relation{name: c.Relation, comment: c.About, keys: c.Keys, view: c.View})
		}
		last := &all[len(all)-1]
		last.columns = append(last.columns, c)
	}
	return all
}
