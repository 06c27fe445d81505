package rules_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"herald/internal/rules"
)

func TestLoadNamesEachMistake(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		file string // of the event type OFFER
		want string // with %s for the folder
	}{
		"an unknown key":       {"chanels:\n  EMAIL:\n", `%s/OFFER.yaml:1: unknown key "chanels": did you mean "channels"?`},
		"an unknown column":    {"channels:\n  EMAIL:\n    delai: 1 hour\n", `%s/OFFER.yaml:3: unknown key "delai": did you mean "delay"?`},
		"an unknown channel":   {"channels:\n  EMIAL:\n", `%s/OFFER.yaml:2: unknown channel_type "EMIAL": did you mean "EMAIL"?`},
		"nothing near":         {"approval: { people: 5 }\n", `%s/OFFER.yaml:1: unknown key "people": known are over`},
		"an unknown word":      {"channels: { EMAIL: { priority: HIHG } }\n", `%s/OFFER.yaml:1: unknown priority "HIHG": did you mean "HIGH"?`},
		"a column of the file": {"recipients:\n- { event_type: X, entity_type: ADMIN }\n", `%s/OFFER.yaml:2: unknown key "event_type": did you mean "user_type"?`},
		"no boolean":           {"channels: { EMAIL: { mandatory: yes } }\n", `%s/OFFER.yaml:1: mandatory must be true or false`},
		"no number":            {"approval: { over: many }\n", `%s/OFFER.yaml:1: over must be a whole number`},
		"no time span":         {"channels: { EMAIL: { delay: soon } }\n", `%s/OFFER.yaml:1: delay must be a time span, such as 5 minutes, 1 hour 30 minutes or 2 days`},
		"no time of day":       {"channels: { EMAIL: { digest_at: 25:00 } }\n", `%s/OFFER.yaml:1: digest_at must be a time of day, such as 08:30`},
		"no list":              {"recipients: { entity_type: ADMIN }\n", `%s/OFFER.yaml:1: it must be a list`},
		"no words":             {"recipients:\n- { entity_type: ADMIN, roles: MANAGER }\n", `%s/OFFER.yaml:2: roles must be a list, such as [MANAGER, CHEF]`},
		"no mapping":           {"channels: [EMAIL]\n", `%s/OFFER.yaml:1: it must be a mapping of keys to values`},
		"a value is missing":   {"escalation:\n  PUSH: { to_channel: SMS, until: READ }\n", `%s/OFFER.yaml:2: after is missing`},
		"a text is missing":    {"texts:\n  SMS:\n    en: { title: x }\n", `%s/OFFER.yaml:3: body is missing`},
		"a key twice":          {"category: a\ncategory: b\n", `%s/OFFER.yaml:2: "category" is here twice`},
		"a row twice":          {"recipients:\n- { entity_type: ADMIN }\n- { entity_type: ADMIN }\n", `%[1]s/OFFER.yaml:3: the same row is in %[1]s/OFFER.yaml:2: event_type_recipients OFFER ADMIN`},
		"an alias":             {"channels: { EMAIL: &x { mandatory: true }, SMS: *x }\n", "%[1]s/OFFER.yaml:1: aliases, anchors and keys that are no words are not allowed: write the value out\n%[1]s/OFFER.yaml:1: aliases, anchors and keys that are no words are not allowed: write the value out"},
		"no number in JSON":    {"payload_schema:\n  maximum: .inf\n", `%s/OFFER.yaml:2: payload_schema: .inf is no number in JSON: quote it, or write it in another way`},
		"an alias in JSON":     {"payload_schema:\n  a: &x {}\n  b: *x\n", `%s/OFFER.yaml:3: payload_schema: an alias is not allowed: write the value out`},
		"no YAML":              {"channels:\n  EMAIL: {\n", `%s/OFFER.yaml:2: did not find expected node content`},
		"two documents":        {"category: a\n---\ncategory: b\n", `%s/OFFER.yaml:2: it must be one document`},
		"a word":               {"EMAIL\n", "%s/OFFER.yaml:1: it must be a mapping, such as `channels:` with the channels below it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := folderOf(t, "OFFER.yaml", c.file)
			_, err := rules.Load(dir)
			require.ErrorAs(t, err, new(rules.Mistakes))
			want := c.want
			if strings.Contains(want, "%") {
				want = fmt.Sprintf(want, dir)
			}
			require.Equal(t, want, err.Error())
		})
	}
}

func TestLoadOfTheInstallation(t *testing.T) {
	t.Parallel()

	dir := folderOf(t, "installation.yaml", "texts:\n  OFFER: { SMS: { en: { title: a, body: b } } }\n", "A.yml", "", ".#B.yaml", "x:",
		"C.yaml", "category: \xff\n")
	_, err := rules.Load(dir)
	require.ErrorContains(t, err, "C.yaml: is not UTF-8")
	require.NoError(t, os.Remove(filepath.Join(dir, "C.yaml")))
	_, err = rules.Load(dir)
	require.EqualError(t, err, dir+"/A.yml:1: rename it to A.yaml\n"+dir+`/installation.yaml:2: unknown event_type "OFFER": known are *, digest`)
}

func TestLoadRefusesFilesThatNoTextHas(t *testing.T) {
	t.Parallel()

	dir := folderOf(t, "OFFER.yaml", "texts: { EMAIL: { en: { title: Offer } } }\n", "offer.email.en.html", "<p>\n", "offer.email.it.html", "")
	_, err := rules.Load(dir)
	require.EqualError(t, err, dir+"/offer.email.it.html:1: no text is in this file: name it EVENT-TYPE.CHANNEL.LOCALE of a text "+
		"without a body in the rules, or remove it")
	_, err = rules.Load(t.TempDir())
	require.ErrorContains(t, err, "there are no rules")
}

// What Load takes, the schema takes.
func TestSchema(t *testing.T) {
	t.Parallel()

	schemas := map[bool]*jsonschema.Schema{}
	for installation, print := range map[bool]func() ([]byte, error){false: rules.EventTypeSchema, true: rules.InstallationSchema} {
		text, err := print()
		require.NoError(t, err)
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource("rules.json", parsed))
		schemas[installation], err = compiler.Compile("rules.json")
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join(restaurant, "*.yaml"))
	require.NoError(t, err)
	for _, name := range files {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, schemas[filepath.Base(name) == "installation.yaml"].Validate(asJSON(t, string(content))), name)
	}
	for _, wrong := range []string{
		"chanels: {}", "channels: { EMIAL: }", "channels: { EMAIL: { delay: soon } }", "channels: { EMAIL: { priority: HIHG } }", "approval: {}",
		"channels: { EMAIL: { mandatory: 1 } }", "tests: [ { nam: x } ]",
	} {
		require.Error(t, schemas[false].Validate(asJSON(t, wrong)), wrong)
	}
}

func asJSON(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
	require.NoError(t, err)
	return parsed
}
