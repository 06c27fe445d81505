package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/rules/ruletest"
)

const testedRules = `
channels: { EMAIL: , SMS: }
texts: { "*": { en: { title: Table, body: "Table for {{.payload.guests}}{{if .payload.vip}}, please{{end}}" } } }
tests:
  - name: an e-mail
    aggregate: CUSTOMER/1
    payload: { guests: 2, vip: false }
    people: [ { is: CUSTOMER/1, email: a@example.com } ]
    expect: { CUSTOMER/1: { EMAIL: SELECTED, SMS: NO_ADDRESS } }
  - name: a text message
    aggregate: CUSTOMER/1
    payload: { guests: 2, vip: false }
    people: [ { is: CUSTOMER/1, phone: "+12025550110" } ]
    expect: { CUSTOMER/1: { EMAIL: NO_ADDRESS, SMS: SELECTED } }
    texts: { CUSTOMER/1: { SMS: { body: Table for 3 } } }
`

// rulesFolder returns a folder with the rules of event type BOOKED.
func rulesFolder(t *testing.T, rules string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "BOOKED.yaml"), []byte(rules), 0o600))
	return dir
}

func TestRulesTest(t *testing.T) {
	t.Parallel()

	c, dir := withDatabase(t), rulesFolder(t, testedRules)
	junit := filepath.Join(t.TempDir(), "report.xml")
	failing := c.fails(t, failed, "error: 1 of 2 tests failed\n", "rules", "test", dir, "--junit", junit)
	require.Equal(t, `ok    BOOKED  an e-mail
FAIL  BOOKED  a text message
      DIR/BOOKED.yaml:10
      CUSTOMER/1 SMS body
        want | Table for 3
        got  | Table for 2

not reached by a test:
  DIR/BOOKED.yaml:3: text BOOKED * en, line 1 of the body: no test takes {{if .payload.vip}}

2 tests: 1 ok, 1 failed
`, strings.ReplaceAll(failing.out, dir, "DIR"))
	written, err := os.ReadFile(junit)
	require.NoError(t, err)
	require.Contains(t, string(written), `<testsuites name="herald rules" tests="2" failures="1"`)

	var report ruletest.Report
	passing := c.run(t, "rules", "test", dir, "--run", "BOOKED/an e", "-o", "json")
	require.Equal(t, succeeded, passing.code, passing.err)
	require.NoError(t, json.Unmarshal([]byte(passing.out), &report))
	require.Len(t, report.Tests, 1)
	require.Equal(t, "an e-mail", report.Tests[0].Name)
	require.Nil(t, report.Unreached, "a part of the tests does not show what the others reach")
}

func TestRulesTestMisused(t *testing.T) {
	t.Parallel()

	c, dir := withDatabase(t), rulesFolder(t, testedRules)
	c.fails(t, failed, "no test matches --run 'x$'", "rules", "test", dir, "--run", "x$")
	c.fails(t, calledWrong, "missing closing", "rules", "test", dir, "--run", "(")
	c.fails(t, calledWrong, "accepts 1 arg(s)", "rules", "test")
	c.fails(t, failed, "BOOKED.yaml:2: unknown key \"chanels\"", "rules", "test", rulesFolder(t, "\nchanels: {}\n"))
	c.fails(t, failed, "no such file or directory", "rules", "test", filepath.Join(dir, "missing"))
}

// documentedTests matches the tests in docs/rules.md, and what the command prints about them.
var documentedTests = regexp.MustCompile("(?s)```yaml\n(tests:\n.*?)```.*?```\n(.*?)```")

func TestRulesTestInTheDocument(t *testing.T) {
	t.Parallel()

	c, dir := withDatabase(t), t.TempDir()
	folder := documentedRules(t, dir)
	block := documentedTests.FindStringSubmatch(string(must(os.ReadFile("../docs/rules.md"))(t)))
	name := filepath.Join(folder, "APPOINTMENT_BOOKED.yaml")
	require.NoError(t, os.WriteFile(name, append(must(os.ReadFile(name))(t), "\n"+block[1]...), 0o600))
	failing := c.run(t, "rules", "test", folder)
	require.Equal(t, failed, failing.code, failing.err)
	require.Equal(t, block[2], strings.ReplaceAll(failing.out, dir+"/", ""))
}
