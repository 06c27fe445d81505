// Package environment reads settings into structs. Each package declares and checks its settings.
// One error names every wrong setting of all packages.
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

// Reader reads structs of settings, and collects the first mistake in each setting. Its errors
// never quote values, which may be secrets.
type Reader struct {
	AllowCleartext bool // permits unencrypted traffic to other hosts

	values map[string]string
	wrong  []string
	keys   map[string]bool // the settings in wrong
	remote []remoteProvider
}

// NewReader returns a reader of an environment.
func NewReader(environment map[string]string) *Reader {
	values := map[string]string{} // not nil: for nil, env reads the process's environment
	maps.Copy(values, environment)
	return &Reader{values: values, keys: map[string]bool{}}
}

// LookupEnv returns the unparsed value of a setting.
func (r *Reader) LookupEnv(key string) (value string, ok bool) {
	value, ok = r.values[key]
	return value, ok
}

// Environ returns the environment as NAME=value, sorted by name.
func (r *Reader) Environ() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		lines = append(lines, name+"="+r.values[name])
	}
	return lines
}

// Refuse records a mistake in a setting. It keeps only the first mistake of each setting.
func (r *Reader) Refuse(key, text string) {
	if !r.keys[key] {
		r.keys[key] = true
		r.wrong = append(r.wrong, key+" "+text)
	}
}

// Err returns an error that names all mistakes, or nil.
func (r *Reader) Err() error {
	if len(r.wrong) == 0 {
		return nil
	}
	return errors.New("settings: " + strings.Join(r.wrong, "; "))
}

// Read fills in the struct that settings points to. Each field's tag names a setting, and Read
// puts prefix before the name. A field keeps its value if its setting is not set and has no
// default, or if its setting cannot be parsed.
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

// explain returns the setting and the mistake in an error of package env, without the value.
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
		return "the settings", "cannot be read" // a mistake in a struct's tags, which tests find
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
