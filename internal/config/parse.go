package config

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// problems is what is wrong with the settings: the first thing about each. It
// never holds a value, which may be a secret, or hold one.
type problems struct {
	texts []string
	keys  map[string]bool
}

// add says what is wrong with a setting, unless something is already.
func (p *problems) add(key, text string) {
	if p.keys[key] {
		return
	}
	if p.keys == nil {
		p.keys = map[string]bool{}
	}
	p.keys[key] = true
	p.texts = append(p.texts, key+" "+text)
}

func (p *problems) err() error {
	if len(p.texts) == 0 {
		return nil
	}
	return errors.New("settings: " + strings.Join(p.texts, "; "))
}

// parse reads the settings of T. What cannot be read becomes a problem and
// keeps its zero value.
func parse[T any](found *problems, environment map[string]string) T {
	var settings T
	parseInto(found, environment, "", &settings)
	return settings
}

// parseInto reads the settings of T, a struct, over those that it has already.
func parseInto[T any](found *problems, environment map[string]string, prefix string, settings *T) {
	given := map[string]string{} // never nil: then env would read the process's own
	maps.Copy(given, environment)
	err := env.ParseWithOptions(settings, env.Options{Environment: given, Prefix: prefix})
	var all env.AggregateError
	if err == nil || !errors.As(err, &all) {
		return
	}
	for _, one := range all.Errors {
		key, text := explain(one, reflect.TypeFor[T](), prefix)
		found.add(key, text)
	}
}

// explain puts an error of the env package in words without the value.
func explain(err error, settings reflect.Type, prefix string) (key, text string) {
	var unset env.VarIsNotSetError
	var empty env.EmptyVarError
	var malformed env.ParseError
	switch {
	case errors.As(err, &unset):
		return unset.Key, "is not set"
	case errors.As(err, &empty):
		return empty.Key, "is empty"
	case errors.As(err, &malformed):
		field, _ := settings.FieldByName(malformed.Name)
		return prefix + field.Tag.Get("env"), "must be " + describe(malformed.Type)
	default:
		return "the settings", "cannot be read" // a mistake in a struct of ours, which its test finds
	}
}

func describe(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 30s"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "a whole number"
	default:
		return "a number"
	}
}
