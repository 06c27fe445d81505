package rules

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/internal/notification"
)

// tests reads the tests of an event type.
func (l *loading) tests(f *file, node *yaml.Node) {
	event := &l.Events[len(l.Events)-1]
	if !l.fits(f, node, reflect.TypeFor[[]Test](), testsKey) {
		return
	}
	if err := node.Decode(&event.Tests); err != nil {
		line, problem := yamlProblem(err)
		l.refuse(f.name, max(line, node.Line), "%s", strings.TrimSpace(problem))
		return
	}
	names := map[string]bool{}
	for i := range event.Tests {
		test := &event.Tests[i]
		test.File, test.Line = event.File, node.Content[i].Line
		switch {
		case test.Name == "":
			l.refuse(f.name, test.Line, "name is missing: say what the test shows")
		case names[test.Name]:
			l.refuse(f.name, test.Line, "another test has the name %q", test.Name)
		case test.Expect == nil:
			l.refuse(f.name, test.Line, "expect is missing: `expect: {}` means that nobody is told")
		}
		names[test.Name] = true
		l.people(f, test, node.Content[i])
	}
}

// people gives the people of a test their lines.
func (l *loading) people(f *file, test *Test, node *yaml.Node) {
	known := map[Reference]bool{}
	for i := range test.People {
		person := &test.People[i]
		person.Line = valueOf(node, "people").Content[i].Line
		switch {
		case person.Is == "":
			l.refuse(f.name, person.Line, "is is missing: name the person, such as RESTAURANT_USER/10")
		case known[person.Is]:
			l.refuse(f.name, person.Line, "%s is in people twice", person.Is)
		}
		known[person.Is] = true
	}
}

// valueOf returns the value of a key of a mapping.
func valueOf(node *yaml.Node, key string) *yaml.Node {
	i := slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == key })
	return node.Content[i+1]
}

// fits reports whether a node has the form of a Go type. key is the nearest key around the node.
func (l *loading) fits(f *file, node *yaml.Node, t reflect.Type, key string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case node.Tag == "!!null" && t.Kind() != reflect.String:
		return true // as if the key were missing
	case t == reflect.TypeFor[Payload]():
		return l.isKind(f, node, yaml.MappingNode, key+" must be a mapping")
	case t == reflect.TypeFor[References]() && node.Kind == yaml.ScalarNode:
		return l.fitsOne(f, node, t.Elem(), key)
	case t == reflect.TypeFor[time.Time]():
		return l.fitsOne(f, node, t, key)
	case t.Kind() == reflect.Struct:
		return l.fitsStruct(f, node, t)
	case t.Kind() == reflect.Map:
		return l.fitsMap(f, node, t, key)
	case t.Kind() != reflect.Slice:
		return l.fitsOne(f, node, t, key)
	}
	sound := l.isKind(f, node, yaml.SequenceNode, key+" must be a list")
	if sound {
		for _, item := range node.Content {
			sound = l.fits(f, item, t.Elem(), key) && sound
		}
	}
	return sound
}

func (l *loading) isKind(f *file, node *yaml.Node, want yaml.Kind, problem string) bool {
	if node.Kind != want {
		l.refuse(f.name, node.Line, "%s", problem)
	}
	return node.Kind == want
}

func (l *loading) fitsStruct(f *file, node *yaml.Node, t reflect.Type) bool {
	fields, known := map[string]reflect.Type{}, []string{}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "-" {
			fields[name], known = t.Field(i).Type, append(known, name)
		}
	}
	sound := true
	return l.each(f, node, known, "key", func(key, value *yaml.Node) {
		sound = l.fits(f, value, fields[key.Value], key.Value) && sound
	}) && sound
}

func (l *loading) fitsMap(f *file, node *yaml.Node, t reflect.Type, key string) bool {
	sound := true
	return l.each(f, node, nil, key, func(k, value *yaml.Node) {
		sound = l.fitsOne(f, k, t.Key(), "a key of "+key) && l.fits(f, value, t.Elem(), k.Value) && sound
	}) && sound
}

var referencePattern = regexp.MustCompile(`^[^/\s]+/.+$`)

// fitsOne reports whether a node is one value of a Go type.
func (l *loading) fitsOne(f *file, node *yaml.Node, t reflect.Type, key string) bool {
	problem := ""
	switch {
	case node.Kind != yaml.ScalarNode:
		problem = key + " must be one value"
	case t == reflect.TypeFor[notification.Channel]() && !notification.Channel(node.Value).Valid():
		problem = unknown("channel", node.Value, channels())
	case t == reflect.TypeFor[notification.Decision]() && !slices.Contains(notification.Decisions(), notification.Decision(node.Value)):
		var known []string
		for _, decision := range notification.Decisions() {
			known = append(known, string(decision))
		}
		problem = unknown("decision", node.Value, known)
	case t == reflect.TypeFor[Reference]() && !referencePattern.MatchString(node.Value):
		problem = key + " must be a type and an id, such as RESTAURANT_USER/10"
	case t == reflect.TypeFor[time.Time]() && !isInstant(node.Value):
		problem = key + " must be a time with a zone, such as 2026-12-01T15:00:00+01:00"
	case t.Kind() == reflect.Bool && node.Tag != "!!bool":
		problem = key + " must be true or false"
	default:
		return true
	}
	l.refuse(f.name, node.Line, "%s", problem)
	return false
}

func isInstant(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
