package activities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/db/postgrestest"
)

// The failure of an activity, with all its causes, quotes no value of a row. The failure of a store's
// statement names the part of the schema.
func TestFailuresQuoteNoValue(t *testing.T) {
	t.Parallel()

	const insert = `INSERT INTO recipient (user_type, user_id, name) VALUES ('ADMIN', 'ada@example.com', 'Ada')`
	store := postgrestest.New(t)
	exec(t, store, insert)
	exec(t, store,
		`CREATE FUNCTION raise_name(name text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ada@%',
			name USING ERRCODE = '42703'; END $$`)
	const bare, script = "do it: ", "run scripts: script 1: SQLSTATE " // the beginnings of errors of a plain query, and of the store
	tests := []struct {
		name, sql string
		args      []any
		where     string
		want      string
	}{
		{name: "constraint", sql: insert, where: bare, want: "SQLSTATE 23505"},
		{name: "cast", sql: `SELECT 'ada@example.com'::text::int`, where: bare, want: "SQLSTATE 22P02"},
		{name: "argument", sql: `SELECT $1::int`, args: []any{struct{ Mail string }{"ada@example.com"}}, where: bare,
			want: "a value has another type than expected"},
		{name: "result", sql: `SELECT 'ada@example.com'::text`, where: bare, want: "a value has another type than expected"},
		{name: "named constraint", sql: insert, where: script, want: "23505: constraint recipient_pkey of table recipient"},
		{name: "empty column", sql: `INSERT INTO recipient (user_type, user_id, name) VALUES ('ADMIN', NULL, 'ada@example.com')`, where: script,
			want: "23502: column user_id of table recipient"},
		{name: "no column", sql: `SELECT r.mail FROM recipient r WHERE r.name = 'ada@example.com'`, where: script,
			want: "42703: column r.mail does not exist"},
		{name: "no table", sql: `SELECT 'ada@example.com' FROM people`, where: script, want: `42P01: relation "people" does not exist`},
		{name: "another type", sql: `SELECT lower(ARRAY['ada@example.com']) FROM recipient`, where: script,
			want: "42883: function lower(text[]) does not exist"},
		{name: "value taken for a name", sql: `SELECT name::regclass FROM recipient`, where: script, want: "42P01"},
		{name: "value in a function's error", sql: `SELECT raise_name(name) FROM recipient`, where: script, want: "42703"},
		{name: "value", sql: `SELECT user_id::int FROM recipient`, where: script, want: "22P02"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			act := func(ctx context.Context) error {
				if tt.where == script {
					return store.RunScripts(ctx, []string{tt.sql}, nil, nil)
				}
				var n int
				return fmt.Errorf("do it: %w", store.Pool.QueryRow(ctx, tt.sql, tt.args...).Scan(&n))
			}
			env := newEnv(act)
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{activities.WithoutValues()}})
			_, err := env.ExecuteActivity(act)
			var failure *temporal.ApplicationError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.where+tt.want, failure.Message())
			require.Equal(t, activities.DatabaseFailed, failure.Type())
			require.False(t, failure.NonRetryable())
			require.NotContains(t, temporal.GetDefaultFailureConverter().ErrorToFailure(err).String(), "ada@")
		})
	}
}
