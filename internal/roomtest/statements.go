package roomtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
)

// Statements records the statements of a store.
type Statements struct {
	mu  sync.Mutex
	All []pgx.TraceQueryStartData
}

// TraceQueryStart records a statement as the database gets it, with numbered parameters.
func (s *Statements) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if i := slices.IndexFunc(data.Args, isRewriter); i >= 0 {
		sql, args, _ := data.Args[i].(pgx.QueryRewriter).RewriteQuery(ctx, conn, data.SQL, data.Args[i+1:])
		data.SQL, data.Args = sql, slices.Concat(data.Args[:i], args)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.All = append(s.All, data)
	return ctx
}

func isRewriter(arg any) bool {
	_, ok := arg.(pgx.QueryRewriter)
	return ok
}

func (*Statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *Statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.All = append(s.All, pgx.TraceQueryStartData{SQL: data.SQL, Args: data.Args})
}

func (*Statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (*Statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Heard returns a second store on the database of s, and a record of its statements.
func Heard(t *testing.T, s *db.DB) (*db.DB, *Statements) {
	t.Helper()
	of := &Statements{}
	config := s.Pool.Config()
	config.ConnConfig.Tracer = of
	pool := Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	return &db.DB{Pool: pool}, of
}

// BlocksOf returns the number of blocks that the database reads for a statement, which
// changes nothing.
func BlocksOf(t *testing.T, s *db.DB, statement pgx.TraceQueryStartData) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	tx := Must(s.Pool.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	require.NoError(t, tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+statement.SQL, statement.Args...).Scan(&plans),
		statement.SQL)
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// AllPlansOf returns the database's plan for each query of f, with its parameters.
func AllPlansOf(t *testing.T, s *db.DB, f func(*db.DB) error) (plans []string) {
	t.Helper()
	listening, asked := Heard(t, s)
	require.NoError(t, f(listening))
	for _, query := range asked.All {
		plans = append(plans, PlansOfQuery(t, s, query)[0])
	}
	return plans
}

func PlansOfQuery(t *testing.T, s *db.DB, query pgx.TraceQueryStartData) []string {
	t.Helper()
	sql, args := query.SQL, query.Args
	if _, mode := args[0].(pgx.QueryExecMode); mode {
		args = args[1:]
	}
	tx := Must(s.Pool.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	explain := func(query string, args ...any) string {
		rows := Must(tx.Query(t.Context(), query, args...))(t)
		lines := Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
		return strings.Join(lines, "\n")
	}
	particular := explain("EXPLAIN "+sql, args...)
	Must(tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = force_generic_plan"))(t)
	Must(tx.Exec(t.Context(), "PREPARE any_of_them AS "+sql))(t)
	general := explain("EXPLAIN EXECUTE any_of_them (" + strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ") + ")")
	Must(tx.Exec(t.Context(), "DEALLOCATE any_of_them"))(t)
	return []string{particular, general}
}
