package template

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	texttemplate "text/template"
)

// functions returns the functions of text/template, but limited: otherwise a loop that appends a text
// to itself, or a number a million columns wide, could fill the memory. They take a [number] where
// they take an integer.
func functions() map[string]any {
	all := map[string]any{
		"print":    bounded(fmt.Sprint),
		"println":  bounded(fmt.Sprintln),
		"html":     bounded(texttemplate.HTMLEscaper),
		"js":       bounded(texttemplate.JSEscaper),
		"urlquery": bounded(texttemplate.URLQueryEscaper),
		"printf":   printf,
		"index":    index,
		"slice":    slice,
		"len":      length,
	}
	maps.Copy(all, comparisons())
	return all
}

func bounded(f func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		for i := range args {
			args[i] = shown(args[i])
		}
		return fit(f(args...))
	}
}

func fit(text string) (string, error) {
	if len(text) > maxBytes {
		return "", errTooLong
	}
	return text, nil
}

var errPlace = errors.New("not a list with such a place, or not an object")

// index returns the value at keys of objects and places of lists. A missing key gives nil, and so does
// every key of a missing object.
func index(value any, keys ...any) (any, error) {
	for _, key := range keys {
		if value == nil || value == "" { // an object that is missing, or null
			return nil, nil
		}
		of := reflect.ValueOf(value)
		switch _, isNumber := value.(number); {
		case of.Kind() == reflect.Map && reflect.TypeOf(key) == of.Type().Key():
			found := of.MapIndex(reflect.ValueOf(key))
			if !found.IsValid() {
				return nil, nil
			}
			value = found.Interface()
		case (of.Kind() == reflect.Slice || of.Kind() == reflect.String) && !isNumber:
			place, err := whole(key)
			if err != nil || place < 0 || place >= int64(of.Len()) {
				return nil, errPlace
			}
			value = of.Index(int(place)).Interface()
		default:
			return nil, errPlace
		}
	}
	return value, nil
}

// slice returns a part of a text or a list: from the first place, up to the second.
func slice(value any, places ...any) (any, error) {
	of := reflect.ValueOf(value)
	if _, isNumber := value.(number); isNumber || of.Kind() != reflect.Slice && of.Kind() != reflect.String || len(places) > 2 {
		return nil, errPlace
	}
	ends := [2]int64{0, int64(of.Len())}
	for i, place := range places {
		end, err := whole(place)
		if err != nil {
			return nil, errPlace
		}
		ends[i] = end
	}
	if ends[0] < 0 || ends[0] > ends[1] || ends[1] > int64(of.Len()) {
		return nil, errPlace
	}
	return of.Slice(int(ends[0]), int(ends[1])).Interface(), nil
}

func length(value any) (int, error) {
	of := reflect.ValueOf(value)
	_, isNumber := value.(number)
	switch of.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		if !isNumber {
			return of.Len(), nil
		}
	}
	return 0, errPlace
}

// each returns the values of a loop. A number counts up to itself, and null has no values.
func each(value any) (any, error) {
	if value == "" {
		return nil, nil
	}
	if _, isNumber := value.(number); isNumber {
		return whole(value)
	}
	return value, nil
}

// shown returns a value as a text shows it. A missing value is empty.
func shown(value any) any {
	if value == nil {
		return ""
	}
	return value
}
