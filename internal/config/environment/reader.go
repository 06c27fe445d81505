// Package environment reads settings into structs. Each package declares and checks
// its own; one error names everything that is wrong with any of them.
package environment

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Reader reads structs of settings, and collects the first thing that is wrong with
// each setting. It says nothing of their values, which may be secrets.
type Reader struct {
	AllowCleartext bool // to other hosts

	values map[string]string
	wrong  []string
	keys   map[string]bool // the keys that wrong names
	remote []remoteProvider
}

// NewReader returns a reader of an environment.
func NewReader(environment map[string]string) *Reader {
	values := map[string]string{} // not nil: for nil, env would read the process's own
	maps.Copy(values, environment)
	return &Reader{values: values, keys: map[string]bool{}}
}

// LookupEnv returns one setting as it is in the environment.
func (r *Reader) LookupEnv(key string) (value string, ok bool) {
	value, ok = r.values[key]
	return value, ok
}

// Environ returns lines NAME=value, in the order of their names.
func (r *Reader) Environ() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		lines = append(lines, name+"="+r.values[name])
	}
	return lines
}

// Refuse says what is wrong with a setting, unless that has been said already.
func (r *Reader) Refuse(key, text string) {
	if !r.keys[key] {
		r.keys[key] = true
		r.wrong = append(r.wrong, key+" "+text)
	}
}

// Err names everything that is wrong, or is nil.
func (r *Reader) Err() error {
	if len(r.wrong) == 0 {
		return nil
	}
	return errors.New("settings: " + strings.Join(r.wrong, "; "))
}

// Read fills in the struct that settings points to, by the tags of its fields, with
// prefix before each name. A field stays as it is if its setting is not in the
// environment and its tag has no default, or if its setting cannot be read.
func (r *Reader) Read(prefix string, settings any) {
	err := env.ParseWithOptions(settings, env.Options{Environment: r.values, Prefix: prefix})
	var all env.AggregateError
	if err == nil || !errors.As(err, &all) {
		return
	}
	for _, one := range all.Errors {
		r.Refuse(explain(one, reflect.TypeOf(settings).Elem(), prefix))
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
		return "the settings", "cannot be read" // a mistake in one of our structs, which its test finds
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
