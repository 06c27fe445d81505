package rules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Forms of values. Postgres has the last word: it knows more than one spelling.
const (
	clockForm    = `^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$`
	timeForm     = `[0-9]+:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?`
	countForm    = `[0-9]+(\.[0-9]+)? *(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|d|weeks?|w|months?|mons?|years?)`
	intervalForm = `^(0|` + timeForm + `|` + countForm + `( +` + countForm + `)*( +` + timeForm + `)?)$`
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
		if node.Kind != yaml.MappingNode {
			return wrong("a mapping")
		}
		value, err := jsonValue(node)
		if err != nil {
			line, problem := yamlProblem(err)
			l.refuse(f.name, line, "%s: %s", c.name, problem)
		}
		return value, err == nil
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

// shown returns a value as an export writes it: 5 minutes for 00:05:00, and 08:30 for 08:30:00.
func shown(c column, value any) any {
	said, isText := value.(string)
	number, isNumber := value.(float64)
	switch {
	case isNumber && c.kind == integer:
		return int64(number)
	case isText && c.kind == clock:
		return strings.TrimSuffix(said, ":00")
	case isText && c.kind == interval:
		return spanText(said)
	}
	return value
}

// postgresSpan is the form in which Postgres writes the time part of an interval.
var postgresSpan = regexp.MustCompile(`^(|.* )(\d{2,}):(\d\d):(\d\d)$`)

// spanText writes 1 day 00:05:00 as 1 day 5 minutes. It leaves other forms alone.
func spanText(span string) string {
	parts := postgresSpan.FindStringSubmatch(span)
	if parts == nil {
		return span
	}
	said := strings.Fields(parts[1])
	for i, unit := range []string{"hour", "minute", "second"} {
		switch n, _ := strconv.Atoi(parts[i+2]); n {
		case 0:
		case 1:
			said = append(said, "1", unit)
		default:
			said = append(said, strconv.Itoa(n), unit+"s")
		}
	}
	if len(said) == 0 {
		return "0"
	}
	return strings.Join(said, " ")
}
