package rules

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is where a row is: its file and section, and the values that the keys around it give.
type place struct {
	file    *file
	section *section
	values  map[string]any
	line    int
}

// section reads the rows of a section.
func (l *loading) section(f *file, s *section, node *yaml.Node) {
	values := map[string]any{}
	if f.eventType != "" {
		values["event_type"] = f.eventType + s.suffix
	}
	l.nested(place{f, s, values, node.Line}, s.nest, node)
}

// nested reads the mappings around rows, and then the rows.
func (l *loading) nested(at place, nest []string, node *yaml.Node) {
	if len(nest) == 0 {
		l.leaf(at, node)
		return
	}
	if len(nest) < len(at.section.nest) || node.Tag != "!!null" {
		l.each(at.file, node, at.section.words(nest[0]), nest[0], func(key, value *yaml.Node) {
			inner := at
			inner.line = key.Line
			inner.values = withValue(at.values, nest[0], key.Value)
			l.nested(inner, nest[1:], value)
		})
	}
}

func withValue(values map[string]any, column string, value any) map[string]any {
	with := map[string]any{column: value}
	for k, v := range values {
		if k != column {
			with[k] = v
		}
	}
	return with
}

// leaf reads the row or the rows at a place.
func (l *loading) leaf(at place, node *yaml.Node) {
	columns := at.section.table.columns
	last := columns[len(columns)-1]
	switch at.section.leaf {
	case row:
		l.row(at, node)
	case rows:
		for _, item := range l.items(at.file, node) {
			at.line = item.Line
			l.row(at, item)
		}
	case scalar:
		if value, ok := l.value(at.file, last, node); ok {
			l.add(at, node, withValue(at.values, last.name, value))
		}
	case set:
		for _, item := range l.items(at.file, node) {
			at.line = item.Line
			if value, ok := l.value(at.file, last, item); ok {
				l.add(at, item, withValue(at.values, last.name, value))
			}
		}
	}
}

// row reads the columns of a row.
func (l *loading) row(at place, node *yaml.Node) {
	columns := at.section.rowColumns(at.file.eventType != "")
	values := at.values
	var known []string
	for _, c := range columns {
		known = append(known, c.name)
	}
	sound := true
	if node.Tag != "!!null" { // a row of standard values
		sound = l.each(at.file, node, known, "key", func(key, value *yaml.Node) {
			c, _ := at.section.table.column(key.Value)
			if read, ok := l.value(at.file, c, value); ok {
				values = withValue(values, key.Value, read)
			} else {
				sound = false
			}
		}) && sound
	}
	if sound {
		l.add(at, node, values)
	}
}

// add completes a row with texts of files and standard values, and keeps it.
func (l *loading) add(at place, node *yaml.Node, values map[string]any) {
	added := Row{
		Table: at.section.table.name, Values: map[string]any{}, File: filepath.Join(l.Dir, at.file.name), Line: at.line,
		of: at.section.table, source: at.file, section: at.section, node: node,
	}
	for _, c := range added.of.columns {
		value, set := values[c.name]
		if c.file {
			value, added.textFile, set = l.text(at, values, c)
		}
		switch {
		case set && (value != nil || !c.required):
			added.Values[c.name] = value
		case c.required:
			l.refuse(at.file.name, at.line, "%s is missing", c.name)
			return
		default:
			added.Values[c.name] = c.standard
		}
	}
	added.key = added.of.keyOf(added.Values)
	if first, twice := l.keys[added.key]; twice {
		l.refuse(at.file.name, at.line, "the same row is in %s:%d: %s", first.File, first.Line, added.of.keyText(added.Values))
		return
	}
	l.keys[added.key] = added
	l.Rows = append(l.Rows, added)
}

// each calls do for each known key of a mapping, and reports whether all keys are known. A mapping
// with nil known takes any key.
func (l *loading) each(f *file, node *yaml.Node, known []string, what string, do func(key, value *yaml.Node)) bool {
	if node.Kind != yaml.MappingNode {
		l.refuse(f.name, node.Line, "it must be a mapping of keys to values")
		return false
	}
	sound := true
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || value.Kind == yaml.AliasNode || value.Anchor != "":
			l.refuse(f.name, key.Line, "aliases, anchors and keys that are no words are not allowed: write the value out")
		case known != nil && !slices.Contains(known, key.Value):
			l.refuse(f.name, key.Line, "%s", unknown(what, key.Value, known))
		case seen[key.Value]:
			l.refuse(f.name, key.Line, "%q is here twice", key.Value)
		default:
			seen[key.Value] = true
			do(key, value)
			continue
		}
		sound = false
	}
	return sound
}

// items returns the items of a list.
func (l *loading) items(f *file, node *yaml.Node) []*yaml.Node {
	if node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		l.refuse(f.name, node.Line, "it must be a list")
		return nil
	}
	return node.Content
}

// keyOf returns the table and the values of a row's key as one text.
func (t *table) keyOf(values map[string]any) string {
	var key strings.Builder
	key.WriteString(t.name)
	for _, column := range t.key {
		fmt.Fprintf(&key, "\x00%#v", values[column])
	}
	return key.String()
}

// keyText returns a row's key for people: event_type_channel_routing PROMOTION EMAIL.
func (t *table) keyText(values map[string]any) string {
	said := []string{t.name}
	for _, column := range t.key {
		if value := values[column]; value != nil {
			said = append(said, fmt.Sprint(value))
		}
	}
	return strings.Join(said, " ")
}
