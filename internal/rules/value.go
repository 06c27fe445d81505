package rules

import (
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Forms of values. Postgres has the last word: it knows more than one spelling.
const (
	clockForm    = `^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$`
	intervalForm = `^(0|[0-9]+:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?` +
		`|[0-9]+(\.[0-9]+)? *(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|d|weeks?|w)` +
		`( +[0-9]+(\.[0-9]+)? *(seconds?|secs?|s|minutes?|mins?|hours?|h|days?|d)| +[0-9]+:[0-5][0-9](:[0-5][0-9])?)*)$`
)

var (
	clockPattern    = regexp.MustCompile(clockForm)
	intervalPattern = regexp.MustCompile(intervalForm)
)

// value reads the value of a column. ok is false after a mistake.
func (l *loading) value(f *file, c column, node *yaml.Node) (value any, ok bool) {
	wrong := func(want string) (any, bool) {
		l.refuse(f.name, node.Line, "%s must be %s", c.name, want)
		return nil, false
	}
	if node.Tag == "!!null" {
		return nil, true
	}
	switch c.kind {
	case list:
		return l.list(f, c, node)
	case object:
		if node.Kind != yaml.MappingNode || node.Decode(&value) != nil {
			return wrong("a mapping")
		}
		return value, true
	}
	if node.Kind != yaml.ScalarNode {
		return wrong("one value")
	}
	switch c.kind {
	case boolean:
		if node.Tag != "!!bool" || node.Decode(&value) != nil {
			return wrong("true or false")
		}
		return value, true
	case integer:
		var number int32
		if node.Tag != "!!int" || node.Decode(&number) != nil {
			return wrong("a whole number")
		}
		return float64(number), true
	case interval:
		if !intervalPattern.MatchString(node.Value) {
			return wrong("a time span, such as 5 minutes, 1 hour 30 minutes or 2 days")
		}
	case clock:
		if !clockPattern.MatchString(node.Value) {
			return wrong("a time of day, such as 08:30")
		}
	default:
		if c.oneOf != nil && !slices.Contains(c.oneOf, node.Value) {
			l.refuse(f.name, node.Line, "%s", unknown(c.name, node.Value, c.oneOf))
			return nil, false
		}
	}
	return node.Value, true
}

func (l *loading) list(f *file, c column, node *yaml.Node) (any, bool) {
	if node.Kind != yaml.SequenceNode {
		l.refuse(f.name, node.Line, "%s must be a list, such as [MANAGER, CHEF]", c.name)
		return nil, false
	}
	words := []any{}
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			l.refuse(f.name, item.Line, "%s must be a list of words", c.name)
			return nil, false
		}
		words = append(words, item.Value)
	}
	return words, true
}
