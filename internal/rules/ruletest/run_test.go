package ruletest_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/db/postgrestest"
	"herald/internal/rules"
	"herald/internal/rules/ruletest"
)

// clinic returns the folder testdata/clinic, with other tests for its event type; empty: its own.
func clinic(t *testing.T, tests string) *rules.Folder {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/clinic")))
	if tests != "" {
		name := filepath.Join(dir, "APPOINTMENT_BOOKED.yaml")
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		before, _, _ := strings.Cut(string(source), "tests:\n")
		require.NoError(t, os.WriteFile(name, []byte(before+"tests:\n"+tests), 0o600))
	}
	folder, err := rules.Load(dir)
	require.NoError(t, err)
	return folder
}

func run(t *testing.T, in ruletest.Request) ruletest.Report {
	t.Helper()
	if in.DB == nil {
		in.DB = postgrestest.New(t)
	}
	report, err := ruletest.Run(t.Context(), in)
	require.NoError(t, err)
	require.Empty(t, schemas(t, in.DB))
	return report
}

// schemas returns the schemas of tests in a database.
func schemas(t *testing.T, s *db.DB) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'herald_rules_test_%'")
}

func TestRun(t *testing.T) {
	t.Parallel()

	report := run(t, ruletest.Request{Folder: clinic(t, "")})
	for _, test := range report.Tests {
		require.Empty(t, test.Lines(), test.Name)
	}
	require.Len(t, report.Tests, 3)
	require.Zero(t, report.Failed())
	var unreached []string
	for _, u := range report.Unreached {
		unreached = append(unreached, filepath.Base(u.File)+": "+u.What)
	}
	require.Equal(t, []string{
		"INVOICE_SENT.yaml: INVOICE_SENT has no tests",
		"APPOINTMENT_BOOKED.yaml: recipients ADMIN: no test has such people",
		"APPOINTMENT_BOOKED.yaml: channel WEBHOOK: no test selects it",
		"APPOINTMENT_BOOKED.yaml: escalation from WEBHOOK to SMS: no test leads to it",
		"APPOINTMENT_BOOKED.yaml: text APPOINTMENT_BOOKED * en, line 1 of the body: no test takes {{if .payload.urgent}}",
		"APPOINTMENT_BOOKED.yaml: text APPOINTMENT_BOOKED * en, line 2 of the body: no test takes {{with index .payload \"note\"}}",
		"APPOINTMENT_BOOKED.yaml: text APPOINTMENT_BOOKED * it: no test shows it",
	}, unreached)
}

// Each test differs in one way.
func TestRunFindsDifferences(t *testing.T) {
	t.Parallel()

	const people = `
    aggregate: CLINIC/1
    payload: { patientId: 7, number: 12, price: 19.90, urgent: true }
    people:
      - { is: PATIENT/7, member: PATIENT/7, name: Ada, email: ada@example.com, devices: [token] }
      - { is: DOCTOR/1, member: CLINIC/1, role: NURSE }
      - { is: DOCTOR/2, member: CLINIC/1, role: DOCTOR, active: false }
`
	tests := []struct {
		name, test string
		want       []string
	}{
		{
			name: "nobody is expected", test: "expect: {}",
			want: []string{"PATIENT/7 decision", "  want | no recipient of this event", "  got  | EMAIL SELECTED, PUSH SELECTED"},
		},
		{
			name: "another decision", test: "expect: { PATIENT/7: { EMAIL: NO_ADDRESS, PUSH: SELECTED } }",
			want: []string{"PATIENT/7 EMAIL decision", "  want | NO_ADDRESS", "  got  | SELECTED"},
		},
		{
			name: "a channel too few and one too many", test: "expect: { PATIENT/7: { EMAIL: SELECTED, SMS: SELECTED } }",
			want: []string{
				"PATIENT/7 PUSH decision", "  want | no decision", "  got  | SELECTED",
				"PATIENT/7 SMS decision", "  want | SELECTED", "  got  | no decision",
			},
		},
		{
			name: "people who are not told",
			test: "expect: { PATIENT/7: { EMAIL: SELECTED, PUSH: SELECTED }, PATIENT/8: {}, DOCTOR/1: { EMAIL: SELECTED }, DOCTOR/2: {} }",
			want: []string{
				"DOCTOR/1 decision", "  want | EMAIL SELECTED",
				"  got  | no recipient of this event: PATIENT/7: only recipients of type PATIENT are told; CLINIC/1: only the roles DOCTOR are told, and theirs is NURSE; only admins are told",
				"DOCTOR/2 decision", "  want | no decision", "  got  | no recipient of this event: they are not active",
				"PATIENT/8 decision", "  want | no decision", "  got  | no recipient of this event: they are not in the people of the test",
			},
		},
		{
			name: "texts",
			test: `expect: { PATIENT/7: { EMAIL: SELECTED, PUSH: SELECTED } }
    texts: { PATIENT/7: { PUSH: { title: Other, body: "Come now,\nAda" }, SMS: { body: x } } }
    escalated_texts: { PATIENT/7: { SMS: { body: x } } }`,
			want: []string{
				"PATIENT/7 PUSH title", "  want | Other", "  got  | Appointment 12",
				"PATIENT/7 PUSH body", "  want | Come now,", "       | Ada", "  got  | Come now, Ada: 19.90 EUR", "       | ",
				"PATIENT/7 SMS body", "  want | x", "  got  | no delivery",
				"PATIENT/7 SMS body", "  want | x", "  got  | no delivery by escalation",
			},
		},
		{
			name: "the actor, and somebody who is left out",
			test: "actor: PATIENT/7\n    exclude: [DOCTOR/1]\n    expect: {}",
			want: []string{"PATIENT/7 decision", "  want | no recipient of this event", "  got  | EMAIL ACTOR, PUSH ACTOR"},
		},
		{
			name: "another payload",
			test: "expect: { PATIENT/7: { EMAIL: SELECTED, PUSH: SELECTED } }\n    payload: { patientId: 7, number: [], price: 1, urgent: true }",
			want: []string{"payload", "  want | as payload_schema says", "  got  | /number: must be integer or string, and is array"},
		},
		{
			name: "a delivery that fails",
			test: "expect: { PATIENT/7: { EMAIL: SELECTED, PUSH: SELECTED } }\n    payload: { patientId: 7, number: 12, urgent: true }",
			want: []string{
				"PATIENT/7 EMAIL delivery", "  want | it can be sent",
				`  got  | template APPOINTMENT_BOOKED/*/en: body: key "price" is missing`,
				"PATIENT/7 PUSH delivery", "  want | it can be sent",
				`  got  | template APPOINTMENT_BOOKED/*/en: body: key "price" is missing`,
			},
		},
	}
	var source strings.Builder
	for _, tt := range tests {
		shared := people
		if strings.Contains(tt.test, "payload:") {
			shared = regexp.MustCompile(`(?m)^    payload: .*\n`).ReplaceAllString(people, "")
		}
		source.WriteString("  - name: " + tt.name + shared + "    " + tt.test + "\n")
	}
	report := run(t, ruletest.Request{Folder: clinic(t, source.String())})
	require.Equal(t, len(tests), report.Failed())
	for i, tt := range tests {
		require.Equal(t, tt.name, report.Tests[i].Name)
		require.Equal(t, tt.want, report.Tests[i].Lines(), tt.name)
	}
}

// A person that the database refuses is a mistake in the file.
func TestRunRefusesPeople(t *testing.T) {
	t.Parallel()

	tests := []struct{ people, want string }{
		{"{ is: NURSE/1 }", `insert or update on table "recipient" violates foreign key constraint`},
		{"{ is: PATIENT/1, digest_at: noon }", "invalid input syntax for type time"},
		{"{ is: PATIENT/1, follows: { CLINIC/1: SOME } }", "violates check constraint"},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		folder := clinic(t, "  - name: x\n    expect: {}\n    people:\n      - "+tt.people+"\n")
		_, err := ruletest.Run(t.Context(), ruletest.Request{DB: s, Folder: folder})
		require.ErrorAs(t, err, new(rules.Mistake), tt.people)
		require.ErrorContains(t, err, tt.want)
		require.Contains(t, err.Error(), folder.Events[0].Tests[0].File)
		require.Empty(t, schemas(t, s))
	}
}

func TestRunWithoutTheRightToCreateSchemas(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	config := s.Pool.Config()
	config.ConnConfig.RuntimeParams["role"] = "pg_monitor"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	_, err = ruletest.Run(t.Context(), ruletest.Request{DB: &db.DB{Pool: pool}, Folder: clinic(t, "")})
	var refused *migrate.SchemaError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Problem, "role pg_monitor may not create schemas in database herald_test_")
	require.Regexp(t, `GRANT CREATE ON DATABASE "herald_test_.*" TO "pg_monitor"`, refused.Remedy)
}

// A run drops its schema when it is interrupted, and the old schemas of killed runs.
func TestRunDropsSchemas(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	old := "herald_rules_test_20260101000000_killed"
	young := "herald_rules_test_" + time.Now().UTC().Format("20060102150405") + "_running"
	other := "herald_rules_test_of_somebody"
	for _, name := range []string{old, young, other} {
		require.NoError(t, s.Exec(t.Context(), "create schema", "CREATE SCHEMA "+pgx.Identifier{name}.Sanitize()))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	_, err := ruletest.Run(ctx, ruletest.Request{DB: s, Folder: clinic(t, ""), Progress: func(int) { interrupt() }})
	require.ErrorIs(t, err, context.Canceled)
	require.ElementsMatch(t, []string{young, other}, schemas(t, s))
}

// A test knows what people follow and have muted, and the examples of links that its texts have.
func TestRunWithFollowersAndLinks(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "MENU.yaml"), []byte(`
recipients:
  - { entity_type: RESTAURANT, entity_id_path: "@aggregate", roles: [MANAGER, FOLLOWER] }
channels: { EMAIL: , WEBSOCKET: }
texts:
  "*": { en: { title: Menu, body: "{{if .mute_url}}{{.mute_url}}{{else}}no link{{end}} {{.preferences_url}}" } }
tests:
  - name: who follows and has not muted is told
    aggregate: RESTAURANT/5
    people:
      - { is: RESTAURANT_USER/10, member: RESTAURANT/5, role: MANAGER, email: a@example.com, mutes: [RESTAURANT/5, ORDER/7] }
      - { is: RESTAURANT_USER/11, email: b@example.com, follows: { RESTAURANT/5: ALL } }
      - { is: RESTAURANT_USER/12, email: c@example.com, follows: { RESTAURANT/5: IMPORTANT } }
      - { is: RESTAURANT_USER/13, email: d@example.com, follows: { RESTAURANT/6: ALL } }
    expect:
      RESTAURANT_USER/10: { EMAIL: MUTED, WEBSOCKET: MUTED }
      RESTAURANT_USER/11: { EMAIL: SELECTED, WEBSOCKET: SELECTED }
      RESTAURANT_USER/12: { EMAIL: MUTED, WEBSOCKET: MUTED }
    texts:
      RESTAURANT_USER/11:
        EMAIL: { body: "https://herald.example.com/mute?token=example https://herald.example.com/preferences?token=example" }
        WEBSOCKET: { body: "no link https://herald.example.com/#preferences" }

  - name: the people of the test before are gone
    aggregate: RESTAURANT/5
    people: [ { is: RESTAURANT_USER/10, member: RESTAURANT/5, role: MANAGER, email: a@example.com }, { is: RESTAURANT_USER/11 } ]
    expect:
      RESTAURANT_USER/10: { EMAIL: SELECTED, WEBSOCKET: SELECTED }
`), 0o600))
	folder, err := rules.Load(dir)
	require.NoError(t, err)
	report := run(t, ruletest.Request{Folder: folder})
	for _, test := range report.Tests {
		require.Empty(t, test.Lines(), test.Name)
	}
	require.Empty(t, report.Unreached)
}
