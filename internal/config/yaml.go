package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document reads a YAML file strictly, and collects all that is wrong with it, by line. It
// quotes no values.
type document struct{ mistakes []mistake }

type mistake struct {
	line int
	text string
}

func (d *document) refuse(line int, format string, args ...any) {
	d.mistakes = append(d.mistakes, mistake{line, fmt.Sprintf(format, args...)})
}

// text is all mistakes, one to a line.
func (d *document) text() string {
	slices.SortStableFunc(d.mistakes, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var lines []string
	for _, m := range d.mistakes {
		lines = append(lines, fmt.Sprintf("line %d: %s", m.line, m.text))
	}
	return strings.Join(lines, "\n")
}

// entries are those of the list that the file has to be.
func (d *document) entries(text []byte) []ast.Node {
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey()) // mapping refuses them, with all else
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.refuse(syntax.Token.Position.Line, "%s", syntax.Message)
		return nil
	case err != nil:
		d.refuse(1, "it is no YAML")
		return nil
	case len(file.Docs) != 1:
		d.refuse(1, "it must be one document")
		return nil
	}
	list, isList := file.Docs[0].Body.(*ast.SequenceNode)
	if !isList || len(list.Values) == 0 {
		d.refuse(1, "it must be a list of sources: each begins with `- name:`")
		return nil
	}
	return list.Values
}

// mapping is one of the file's mappings, of which each key is read once.
type mapping struct {
	*document
	line   int
	values map[string]ast.Node
	lines  map[string]int // of the keys
}

// mapping reads one that may have these keys. what is its name in mistakes. ok is false
// where it is none.
func (d *document) mapping(node ast.Node, what string, keys []string) (m mapping, ok bool) {
	m = mapping{d, node.GetToken().Position.Line, map[string]ast.Node{}, map[string]int{}}
	pairs, isMapping := node.(ast.MapNode)
	if !isMapping {
		d.refuse(m.line, "%s must be keys and values", what)
		return m, false
	}
	first := true
	for pair := pairs.MapRange(); pair.Next(); {
		key, line := pair.Key().GetToken().Value, pair.Key().GetToken().Position.Line
		if first {
			m.line, first = line, false
		}
		switch _, repeated := m.values[key]; {
		case repeated:
			d.refuse(line, "%s is there twice: before in line %d", key, m.lines[key])
		case removedKeys[key] != "":
			d.refuse(line, "%s", removedKeys[key])
		case !slices.Contains(keys, key):
			d.refuse(line, "%s has no key %q; it may have %s", what, key, strings.Join(keys, ", "))
		default:
			m.values[key], m.lines[key] = pair.Value(), line
		}
	}
	return m, true
}

// has says whether a key is there, whatever its value is.
func (m mapping) has(key string) bool { return m.values[key] != nil }

// lineOf is that of a key, or of the mapping where it is not there.
func (m mapping) lineOf(key string) int {
	if line, there := m.lines[key]; there {
		return line
	}
	return m.line
}

// need refuses a mapping without one of these keys.
func (m mapping) need(what string, keys ...string) {
	for _, key := range keys {
		if !m.has(key) {
			m.refuse(m.line, "%s has no `%s:`", what, key)
		}
	}
}
