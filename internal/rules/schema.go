package rules

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/internal/notification"
)

// schema is a JSON Schema, or a part of one.
type schema = map[string]any

// EventTypeSchema returns the JSON Schema of the files of event types.
func EventTypeSchema() ([]byte, error) {
	properties := sectionSchemas(eventSections, true)
	tests := typeSchema(reflect.TypeFor[[]Test]())
	tests["description"] = "What `starter rules test` tries."
	properties[testsKey] = tests
	return document("The rules of an event type", properties)
}

// InstallationSchema returns the JSON Schema of installation.yaml.
func InstallationSchema() ([]byte, error) {
	return document("The rules of all event types", sectionSchemas(installationSections, false))
}

func document(title string, properties schema) ([]byte, error) {
	text, err := json.MarshalIndent(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title,
		"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return append(text, '\n'), nil
}

func sectionSchemas(sections []section, ofEventType bool) schema {
	found := schema{}
	for _, s := range sections {
		last := s.table.columns[len(s.table.columns)-1]
		var part schema
		switch s.leaf {
		case row:
			part = rowSchema(s, ofEventType)
		case rows:
			part = schema{"type": []string{"array", "null"}, "items": rowSchema(s, ofEventType)}
		case scalar:
			part = last.schema()
		case set:
			part = schema{"type": []string{"array", "null"}, "items": last.schema()}
		}
		for i := len(s.nest) - 1; i >= 0; i-- {
			key, _ := s.table.column(s.nest[i])
			part = schema{"type": "object", "propertyNames": key.schema(), "additionalProperties": part}
			if words := s.words(key.name); words != nil { // editors complete properties, but not the names of others
				properties := schema{}
				for _, name := range words {
					properties[name] = part["additionalProperties"]
				}
				part = schema{"type": "object", "properties": properties, "additionalProperties": false}
			}
		}
		part["description"] = s.about
		found[s.key] = part
	}
	return found
}

// rowSchema describes a row. A column with a text may be missing, because a file may hold it.
func rowSchema(s section, ofEventType bool) schema {
	properties, required := schema{}, []string{}
	for _, c := range s.rowColumns(ofEventType) {
		properties[c.name] = c.schema()
		if c.required && !c.file {
			required = append(required, c.name)
		}
	}
	kinds := []string{"object"}
	if len(required) == 0 {
		kinds = append(kinds, "null")
	}
	return schema{"type": kinds, "properties": properties, "required": required, "additionalProperties": false}
}

func (c column) schema() schema {
	made := schema{}
	types := []string{}
	switch c.kind {
	case boolean:
		types = append(types, "boolean")
	case integer:
		types = append(types, "integer")
	case object:
		types = append(types, "object")
	case list:
		types = append(types, "array")
		made["items"] = schema{"type": []string{"string", "number", "boolean"}}
	case interval:
		types = append(types, "string", "integer")
		made["pattern"] = intervalForm
		made["examples"] = []string{"5 minutes", "2 days"}
	case clock:
		types = append(types, "string")
		made["pattern"] = clockForm
	default:
		types = append(types, "string", "number", "boolean") // YAML reads 5 as a number
	}
	if c.oneOf != nil {
		types = []string{"string"}
		words := []any{}
		for _, word := range c.oneOf {
			words = append(words, word)
		}
		if !c.required {
			words = append(words, nil)
		}
		made["enum"] = words
	}
	if !c.required {
		types = append(types, "null")
	}
	made["type"] = types
	if c.standard != nil {
		made["default"] = shown(c, c.standard)
	}
	return made
}

// typeSchema describes a type of Go that the YAML library decodes. A type that decodes itself may have
// any form.
func typeSchema(of reflect.Type) schema {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case of == reflect.TypeFor[Payload]():
		return schema{"type": []string{"object", "null"}}
	case of == reflect.TypeFor[notification.Decision]():
		return schema{"enum": notification.Decisions()}
	case reflect.PointerTo(of).Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		return schema{}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return typeSchema(of.Elem())
	case reflect.Slice:
		return schema{"type": []string{"array", "null"}, "items": typeSchema(of.Elem())}
	case reflect.Map:
		made := schema{"type": []string{"object", "null"}, "additionalProperties": typeSchema(of.Elem())}
		if of.Key() == reflect.TypeFor[notification.Channel]() {
			made["propertyNames"] = schema{"enum": channels()}
		}
		return made
	case reflect.String:
		return schema{"type": []string{"string", "number", "boolean", "null"}}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Struct:
		properties := schema{}
		for _, f := range reflect.VisibleFields(of) {
			if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" && key != "-" {
				properties[key] = typeSchema(f.Type)
			}
		}
		return schema{"type": "object", "properties": properties, "additionalProperties": false}
	}
	return schema{}
}
