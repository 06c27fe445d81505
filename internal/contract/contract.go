// Package contract checks payloads against the JSON Schemas of event_type_schema, of draft 2020-12.
// A schema is self-contained: nothing is loaded from a file or a network. format is checked.
package contract

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSize limits a schema, as event_type_schema does, in bytes.
	maxSize = 64 << 10
	// maxMistakes limits the mistakes of one payload.
	maxMistakes = 20
	// name is the schema's address in errors of the library.
	name = "payload_schema"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Compile compiles a schema. Its error names the mistake and the place.
func Compile(text []byte) (*Schema, error) {
	if len(text) > maxSize {
		return nil, errors.New("payload_schema is larger than 64 KiB")
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("payload_schema is not JSON: %w", err)
	}
	if _, isObject := document.(map[string]any); !isObject {
		return nil, errors.New("payload_schema must be a JSON object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(nothing{})
	if err := compiler.AddResource(name, document); err != nil {
		return nil, explained(err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return nil, explained(err)
	}
	return &Schema{compiled}, nil
}

// nothing loads no other schema.
type nothing struct{}

func (nothing) Load(string) (any, error) {
	return nil, errors.New("a $ref must stay in payload_schema: #/$defs/…")
}

// explained returns the mistake of a schema in one line.
func explained(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var found *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &found) {
		return fmt.Errorf("payload_schema is no JSON Schema of draft 2020-12: %s", mistakes(found)[0])
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	return errors.New("payload_schema does not compile: " + text)
}

// Mistakes returns the mistakes of a payload, at most twenty. A payload that is not JSON has no
// mistakes: the database refuses it.
func (s *Schema) Mistakes(payload []byte) []Mistake {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return nil
	}
	if big := tooBig(value, ""); big != nil {
		return []Mistake{*big}
	}
	var found *jsonschema.ValidationError
	if errors.As(s.compiled.Validate(value), &found) {
		return mistakes(found)
	}
	return nil
}
