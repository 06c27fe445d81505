package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/rules"
)

// loadTests loads a folder with these tests of event type E.
func loadTests(t *testing.T, tests string) ([]rules.Test, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "E.yaml"), []byte("tests:\n"+tests), 0o600))
	folder, err := rules.Load(dir)
	if err != nil {
		return nil, err
	}
	return folder.Events[0].Tests, nil
}

func TestLoadTests(t *testing.T) {
	t.Parallel()

	tests, err := loadTests(t, `
  - name: first
    at: 2026-12-01T15:00:00+01:00
    aggregate: CLINIC/1
    payload: { n: 19.90, big: 12345678901234567890, at: 2026-12-01, on: true, none: null, text: "7", list: [1, { a: b }] }
    people:
      - { is: PATIENT/7, member: CLINIC/1, phone: +12025550110, email: }
      - { is: PATIENT/8/9, member: [CLINIC/1, CLINIC/2], active: false }
    expect: { PATIENT/7: { SMS: SELECTED } }
  - name: second
    at: "2026-12-01T15:00:00Z"
    expect: {}
`)
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC), tests[0].At.UTC())
	require.JSONEq(t, `{"n": 19.90, "big": 12345678901234567890, "at": "2026-12-01", "on": true, "none": null, "text": "7", "list": [1, {"a": "b"}]}`,
		string(tests[0].Payload))
	require.Contains(t, string(tests[0].Payload), "19.90", "a template shows the number as it is written")
	require.Contains(t, string(tests[0].Payload), "12345678901234567890")
	require.Equal(t, rules.References{"CLINIC/1"}, tests[0].People[0].Member)
	require.Equal(t, "+12025550110", *tests[0].People[0].Phone)
	require.Nil(t, tests[0].People[0].Email)
	require.Equal(t, rules.Reference("PATIENT/8/9"), tests[0].People[1].Is)
	require.Equal(t, rules.References{"CLINIC/1", "CLINIC/2"}, tests[0].People[1].Member)
	require.Equal(t, []int{3, 8, 9, 11}, []int{tests[0].Line, tests[0].People[0].Line, tests[0].People[1].Line, tests[1].Line})
	require.Equal(t, time.Date(2026, 12, 1, 15, 0, 0, 0, time.UTC), tests[1].At.UTC())
}

func TestLoadRefusesTests(t *testing.T) {
	t.Parallel()

	tests := []struct{ test, want string }{
		{"  name: x", "2: tests must be a list"},
		{"- { expect: {} }", "2: name is missing: say what the test shows"},
		{"- { name: x, expect: }", "2: expect is missing: `expect: {}` means that nobody is told"},
		{"- { name: x, expect: {} }\n- { name: x, expect: {} }", `3: another test has the name "x"`},
		{"- { name: x, expects: {} }", `2: unknown key "expects": did you mean "expect"?`},
		{"- name: x\n  expect:\n    P/1: { SMS: SELECT }", `4: unknown decision "SELECT": did you mean "SELECTED"?`},
		{"- name: x\n  expect:\n    P/1: { SNS: SELECTED }", `4: unknown channel "SNS": did you mean "SMS"?`},
		{"- name: x\n  expect: { P1: { SMS: SELECTED } }", "3: a key of expect must be a type and an id, such as RESTAURANT_USER/10"},
		{"- name: x\n  expect: {}\n  at: 2026-12-01", "4: at must be a time with a zone, such as 2026-12-01T15:00:00+01:00"},
		{"- name: x\n  expect: {}\n  payload: 7", "4: payload must be a mapping"},
		{"- name: x\n  expect: {}\n  payload:\n    n: 007", "5: 007 is no number in JSON: quote it, or write it in another way"},
		{"- name: x\n  expect: {}\n  texts: { P/1: { SMS: { text: a } } }", `4: unknown key "text": known are body, title, url`},
		{"- name: x\n  expect: {}\n  people:\n    - { member: C/1 }", "5: is is missing: name the person, such as RESTAURANT_USER/10"},
		{"- name: x\n  expect: {}\n  people:\n    - { is: P/1 }\n    - { is: P/1 }", "6: P/1 is in people twice"},
		{"- name: x\n  expect: {}\n  people:\n    - { is: P/1, active: maybe }", "5: active must be true or false"},
		{"- name: x\n  expect: {}\n  people:\n    - { is: P/1, mail: a@example.com }", `5: unknown key "mail": did you mean "email"?`},
		{"- name: x\n  expect: {}\n  people:\n    - { is: P/1, categories_off: { offers: [MAIL] } }", `5: unknown channel "MAIL": did you mean "EMAIL"?`},
		{"- name: x\n  expect: {}\n  people: &p\n    - { is: P/1 }", "4: aliases, anchors and keys that are no words are not allowed: write the value out"},
	}
	for _, tt := range tests {
		_, err := loadTests(t, tt.test+"\n")
		require.ErrorAs(t, err, new(rules.Mistakes), tt.test)
		_, got, _ := strings.Cut(err.Error(), "E.yaml:")
		require.Equal(t, tt.want, got, tt.test)
	}
}
