package db_test

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
	"herald/internal/attempt"
	"herald/internal/audit"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/event"
	"herald/internal/inbox"
	"herald/internal/ingest"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/preference"
	"herald/internal/purge"
	"herald/internal/receipts"
	"herald/internal/relay"
	"herald/internal/report"
	"herald/internal/roomtest"
	"herald/internal/suppression"
)

// limits are the methods of [limit.Store] that a worker calls. The others are an operator's.
type limits interface {
	ProviderStates(ctx context.Context) ([]notification.ProviderState, error)
	OpenCircuit(ctx context.Context, provider, failure string, first, longest time.Duration, probed bool) error
	ClaimProbe(ctx context.Context, provider string, lease time.Duration) (bool, error)
	CloseCircuit(ctx context.Context, provider string) error
	limit.Tokens
}

// Each role of docs/roles.sql may run the statements of its program. The test calls each method with
// made-up arguments: Postgres checks permissions before it reads a row.
func TestRolesMayRunTheirStatements(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roles := newRoles(t, s)
	producing := "GRANT SELECT, INSERT ON event_outbox TO herald_gateway" // docs/roles.md, with INGEST_AUDIENCE
	postgrestest.Exec(t, s, roles.Replace(string(roomtest.Must(os.ReadFile("../../docs/roles.sql"))(t))+producing))
	of := func(role string) (*db.DB, *roomtest.Statements) {
		return heardAs(t, s, roles.Replace("herald_"+role))
	}

	worker, heard := of("worker")
	wanted := []reflect.Type{reflect.TypeFor[limits](), reflect.TypeFor[planner.Rows]()}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[activities.Activities]()) {
		wanted = append(wanted, field.Type)
	}
	var tried int
	for _, room := range rooms(worker) {
		for _, of := range wanted {
			if of.Kind() == reflect.Interface && reflect.TypeOf(room).Implements(of) {
				requirePermission(t, worker.Pool, room, heard, methodsOf(of))
				tried++
			}
		}
	}
	require.Greater(t, tried, 12, "interfaces of activities that a room has")

	browsers, heard := of("gateway")
	require.NoError(t, browsers.Ready(t.Context()))
	for _, room := range []any{inbox.On(browsers), preference.On(browsers), receipts.On(browsers), ingest.On(browsers)} {
		requirePermission(t, browsers.Pool, room, heard, ownMethods(room))
	}
	requireFollows(t, s, browsers)
	require.NotEqual(t, noPermission, codeOf(roomtest.ErrOf(planner.On(browsers).TypeSetup(t.Context(), "T"))))

	operator, heard := of("operator")
	requirePermission(t, operator.Pool, operator, heard, methodsOf(reflect.TypeFor[*db.DB]()))
	for _, room := range rooms(operator) {
		requirePermission(t, operator.Pool, room, heard, ownMethods(room))
	}
	for _, table := range []string{
		"user_notification_preferences", "user_category_preferences", "user_settings", "entity_follow", "entity_mute", "recipient_device",
		"throttle", "counted_message",
		"notification_decision", person.DeliveryTable,
	} {
		roomtest.Must(person.On(operator).MergeTable(t.Context(), roomtest.Customer7,
			notification.RecipientKey{UserType: notification.Customer, UserID: "8"}, table))(t)
	}
	requirePermission(t, operator.Pool, report.Reader{Pool: operator.Pool}, heard, methodsOf(reflect.TypeFor[report.Reader]()))
}

// requireFollows follows, changes the level and mutes as a gateway, which may change no other column.
// Made-up arguments are refused before these statements.
func requireFollows(t *testing.T, s, gateway *db.DB) {
	t.Helper()
	postgrestest.Add(t, s.Pool,
		postgrestest.Target{EventType: "MENU", EntityType: "RESTAURANT", EntityIDPath: "id", Roles: []string{notification.Follower}})
	trattoria := notification.Entity{Type: "RESTAURANT", ID: "5"}
	for _, level := range []notification.FollowLevel{notification.FollowAll, notification.FollowImportant} {
		require.NoError(t, preference.On(gateway).Follow(t.Context(), roomtest.Customer7, trattoria, level))
		require.NoError(t, preference.On(gateway).Mute(t.Context(), roomtest.Customer7, trattoria))
	}
	for _, table := range []string{"entity_follow", "entity_mute"} {
		require.Equal(t, noPermission, codeOf(gateway.Exec(t.Context(), "rename", "UPDATE "+table+" SET user_id = 'x'")), table)
	}
}

// rooms returns the statements of workers and operators, by room.
func rooms(d *db.DB) []any {
	return []any{
		planner.On(d), attempt.On(d), event.On(d), escalation.On(d), person.On(d), suppression.On(d), limit.On(d),
		purge.On(d), audit.On(d), relay.On(d),
	}
}

// ownMethods returns the methods of a room that [db.DB] does not have.
func ownMethods(room any) []string {
	return slices.DeleteFunc(methodsOf(reflect.TypeOf(room)), func(name string) bool {
		_, promoted := reflect.TypeFor[*db.DB]().MethodByName(name)
		return promoted
	})
}

// newRoles makes the roles under other names, because all databases of a server share its roles.
func newRoles(t *testing.T, s *db.DB) *strings.Replacer {
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
func heardAs(t *testing.T, s *db.DB, role string) (*db.DB, *roomtest.Statements) {
	t.Helper()
	of := &roomtest.Statements{}
	config := s.Pool.Config()
	config.ConnConfig.Tracer, config.ConnConfig.RuntimeParams["role"] = of, role
	pool := roomtest.Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	return &db.DB{Pool: pool, AddressHash: func(string) []byte { return make([]byte, 32) }}, of
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

const noPermission = "42501"

// codeOf returns the server's code of an error; empty: it is not from the server.
func codeOf(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

// requirePermission calls methods. Each runs a statement, and none lacks a permission.
func requirePermission(t *testing.T, pool *pgxpool.Pool, on any, heard *roomtest.Statements, names []string) {
	t.Helper()
	for _, name := range names {
		if !slices.Contains(untried, name) {
			heard.All = nil
			err := call(t, pool, reflect.ValueOf(on).MethodByName(name))
			require.NotEqual(t, noPermission, codeOf(err), "%T.%s: %v", on, name, err)
			require.Greater(t, len(heard.All), 1, "%T.%s", on, name) // more than begin
		}
	}
}

// call calls a method with made-up arguments, and returns its error.
func call(t *testing.T, pool *pgxpool.Pool, method reflect.Value) (failed error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tx := roomtest.Must(pool.Begin(ctx))(t)
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
