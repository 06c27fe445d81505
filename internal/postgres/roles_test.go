package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/channel"
	"herald/internal/notification"
	"herald/internal/postgres"
	gatewaystore "herald/internal/postgres/gateway"
	"herald/internal/postgres/postgrestest"
	"herald/internal/postgres/report"
)

// Each role of docs/roles.sql may run the statements of its program. The test calls each method with
// made-up arguments: Postgres checks permissions before it reads a row.
func TestRolesMayRunTheirStatements(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roles := newRoles(t, s)
	ingest := "GRANT SELECT, INSERT ON event_outbox TO herald_gateway" // docs/roles.md, with INGEST_AUDIENCE
	postgrestest.Exec(t, s, roles.Replace(string(must(os.ReadFile("../../docs/roles.sql"))(t))+ingest))
	of := func(role string) (*postgres.Store, *statements) {
		return heardAs(t, s, roles.Replace("herald_"+role))
	}

	worker, heard := of("worker")
	var names []string
	for _, store := range reflect.VisibleFields(reflect.TypeFor[activities.Activities]()) {
		if store.Type.Kind() == reflect.Interface && reflect.TypeFor[*postgres.Store]().Implements(store.Type) {
			names = append(names, methodsOf(store.Type)...)
		}
	}
	names = append(names, methodsOf(reflect.TypeFor[channel.States]())...)
	requirePermission(t, worker.Pool, worker, heard, names)

	store, heard := of("gateway")
	browsers := &gatewaystore.Store{Store: store}
	names = []string{"TypeSetup", "Ready"}
	for _, name := range methodsOf(reflect.TypeFor[*gatewaystore.Store]()) {
		if _, promoted := reflect.TypeFor[*postgres.Store]().MethodByName(name); !promoted {
			names = append(names, name)
		}
	}
	requirePermission(t, store.Pool, browsers, heard, names)

	operator, heard := of("operator")
	requirePermission(t, operator.Pool, operator, heard, methodsOf(reflect.TypeFor[*postgres.Store]()))
	for _, table := range []string{"user_notification_preferences", "user_category_preferences", "user_settings", "recipient_device", "throttle", "counted_message", "notification_decision", postgres.DeliveryTable} {
		must(operator.MergeTable(t.Context(), customer7, notification.RecipientKey{UserType: notification.Customer, UserID: "8"}, table))(t)
	}
	requirePermission(t, operator.Pool, report.Reader{Pool: operator.Pool}, heard, methodsOf(reflect.TypeFor[report.Reader]()))
}

// newRoles makes the roles under other names, because all databases of a server share its roles.
func newRoles(t *testing.T, s *postgres.Store) *strings.Replacer {
	t.Helper()
	suffix := "_" + strings.ToLower(rand.Text())
	var pairs, names []string
	for _, name := range []string{"herald_worker", "herald_gateway", "herald_producer", "herald_operator"} {
		pairs, names = append(pairs, name, name+suffix), append(names, name+suffix)
	}
	postgrestest.Exec(t, s, "CREATE ROLE "+strings.Join(names, "; CREATE ROLE ")+" IN ROLE "+names[0]+", "+names[2])
	t.Cleanup(func() {
		all := strings.Join(names, ", ")
		_, err := s.Pool.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+all+"; DROP ROLE "+all)
		require.NoError(t, err)
	})
	return strings.NewReplacer(pairs...)
}

// heardAs returns a store of a role, and a record of its statements.
func heardAs(t *testing.T, s *postgres.Store, role string) (*postgres.Store, *statements) {
	t.Helper()
	of := &statements{}
	config := s.Pool.Config()
	config.ConnConfig.Tracer, config.ConnConfig.RuntimeParams["role"] = of, role
	pool := must(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	return &postgres.Store{Pool: pool, AddressHash: func(string) []byte { return make([]byte, 32) }}, of
}

func methodsOf(of reflect.Type) (names []string) {
	for i := range of.NumMethod() {
		names = append(names, of.Method(i).Name)
	}
	return names
}

// untried are methods that no role of docs/roles.sql calls with made-up arguments: migrators run scripts,
// listening waits, and the tables of MergeTable have names.
var untried = []string{"RunScripts", "Close", "Exec", "ListenEvents", "ListenFollowUps", "MergeTable"}

// requirePermission calls methods. Each runs a statement, and none lacks a permission.
func requirePermission(t *testing.T, pool *pgxpool.Pool, on any, heard *statements, names []string) {
	t.Helper()
	for _, name := range names {
		if !slices.Contains(untried, name) {
			heard.heard = nil
			err := call(t, pool, reflect.ValueOf(on).MethodByName(name))
			var refused *pgconn.PgError
			require.False(t, errors.As(err, &refused) && refused.Code == "42501", "%T.%s: %v", on, name, err)
			require.Greater(t, len(heard.heard), 1, "%T.%s", on, name) // more than begin
		}
	}
}

// call calls a method with made-up arguments, and returns its error.
func call(t *testing.T, pool *pgxpool.Pool, method reflect.Value) (failed error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tx := must(pool.Begin(ctx))(t)
	defer func() { _ = tx.Rollback(ctx) }()
	given := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(tx)}
	var arguments []reflect.Value
	for i := range method.Type().NumIn() {
		arguments = append(arguments, madeUp(method.Type().In(i), given, 0))
	}
	run := method.Call
	if method.Type().IsVariadic() {
		run = method.CallSlice
	}
	for _, result := range run(arguments) {
		if err, _ := reflect.TypeAssert[error](result); err != nil {
			failed = err
		}
	}
	return failed
}

// madeUp returns a value of a type: one element in each set, no empty text, and for an interface one of the
// given values.
func madeUp(of reflect.Type, given []reflect.Value, depth int) reflect.Value {
	value := reflect.New(of).Elem()
	switch {
	case of.Kind() == reflect.Interface:
		for _, one := range given {
			if one.Type().Implements(of) && of.NumMethod() > 0 {
				return one
			}
		}
		return value
	case of == reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Now())
	case depth > 4:
		return value
	}
	switch of.Kind() {
	case reflect.String:
		value.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(1)
	case reflect.Float64:
		value.SetFloat(1)
	case reflect.Slice:
		value = reflect.Append(value, madeUp(of.Elem(), given, depth+1))
	case reflect.Pointer:
		value.Set(reflect.New(of.Elem()))
		value.Elem().Set(madeUp(of.Elem(), given, depth+1))
	case reflect.Func:
		value.Set(reflect.MakeFunc(of, func([]reflect.Value) (results []reflect.Value) {
			for i := range of.NumOut() {
				results = append(results, reflect.Zero(of.Out(i)))
			}
			return results
		}))
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				value.Field(i).Set(madeUp(of.Field(i).Type, given, depth+1))
			}
		}
	}
	return value
}
