package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/contract"
)

// A mistake has its place, and what was expected; never the value.
func TestMistakes(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, schema, payload, want string }{
		{"fits", `{"required": ["a"]}`, `{"a": 1}`, `[]`},
		{"no JSON", `{"required": ["a"]}`, `{`, `[]`},
		{"type", `{"properties": {"guests": {"type": "integer"}}}`, `{"guests": "four"}`, `[/guests: must be integer, and is string]`},
		{"whole number", `{"properties": {"guests": {"type": "integer"}}}`, `{"guests": 4.0}`, `[]`},
		{"missing", `{"required": ["a", "b"]}`, `{}`, `[/a: is missing /b: is missing]`},
		{"nested", `{"properties": {"a/b": {"items": {"required": ["c~"]}}}}`, `{"a/b": [{"c~": 1}, {}]}`, `[/a~1b/1/c~0: is missing]`},
		{"unknown", `{"additionalProperties": false}`, `{"gusts": 1}`, `[/gusts: is not allowed: the schema has no such key]`},
		{"list", `{"properties": {"a": {"enum": ["x", 1]}}}`, `{"a": "secret"}`, `[/a: must be one of ["x",1]]`},
		{"one value", `{"properties": {"a": {"const": 1}}}`, `{"a": "secret"}`, `[/a: must be 1]`},
		{"format", `{"properties": {"a": {"format": "date-time"}}}`, `{"a": "secret"}`, `[/a: must be a date-time]`},
		{"pattern", `{"properties": {"a": {"pattern": "^x"}}}`, `{"a": "secret"}`, `[/a: must match ^x]`},
		{"length", `{"properties": {"a": {"minLength": 9}}}`, `{"a": "secret"}`, `[/a: must have at least 9 characters, and has 6]`},
		{"range", `{"properties": {"a": {"minimum": 1.5}}}`, `{"a": 1}`, `[/a: must be at least 1.5]`},
		{"any of", `{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{}`, `[must fit anyOf (/a: is missing; or /b: is missing)]`},
		{"too many of", `{"oneOf": [{}, {"type": "object"}]}`, `{}`, `[must fit oneOf, and fits more than one of its schemas]`},
		{"not", `{"not": {"required": ["a"]}}`, `{"a": "secret"}`, `[does not fit]`},
		{"items", `{"properties": {"a": {"uniqueItems": true}}}`, `{"a": ["secret", "secret"]}`, `[/a: does not fit uniqueItems]`},
		{"reference", `{"$ref": "#/$defs/x", "$defs": {"x": {"required": ["a"]}}}`, `{}`, `[/a: is missing]`},
		{"draft 7", `{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"]}`, `{}`, `[/a: is missing]`},
		{"huge number", `{"properties": {"a": {"minimum": 1}}}`, `{"a": [1e999999999]}`, `[/a/0: is a number with an exponent over 1000]`},
		{"large number", `{"properties": {"a": {"maximum": 1}}}`, `{"a": 1e1000}`, `[/a: must be at most 1]`},
	} {
		schema, err := contract.Compile([]byte(tt.schema))
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, fmt.Sprint(schema.Mistakes([]byte(tt.payload))), tt.name)
	}
	schema, err := contract.Compile([]byte(`{"additionalProperties": {"type": "string"}}`))
	require.NoError(t, err)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf(`"key%d": 1`, i))
	}
	require.Len(t, schema.Mistakes([]byte("{"+strings.Join(many, ",")+"}")), 20)
}

// What is wrong with a schema is said in one line, and nothing is loaded.
func TestCompileErrors(t *testing.T) {
	t.Parallel()

	for schema, want := range map[string]string{
		`{`:                                      "payload_schema is not JSON",
		`true`:                                   "payload_schema must be a JSON object",
		`{"type": "int"}`:                        "payload_schema is no JSON Schema of draft 2020-12: /type: must fit anyOf",
		`{"$ref": "#/$defs/none"}`:               "payload_schema does not compile",
		`{"$ref": "https://example.com/s.json"}`: "a $ref must stay in payload_schema",
		`{"$ref": "file:///etc/passwd"}`:         "a $ref must stay in payload_schema",
		`{"$schema": "https://example.com/draft"}`:        "a $ref must stay in payload_schema",
		`{"pattern": "(?=x)"}`:                            "payload_schema is no JSON Schema of draft 2020-12: /pattern: must be a regex",
		`{"title": "` + strings.Repeat("x", 65536) + `"}`: "payload_schema is larger than 64 KiB",
	} {
		_, err := contract.Compile([]byte(schema))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
}
