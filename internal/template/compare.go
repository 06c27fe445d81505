package template

import (
	"cmp"
	"errors"
	"reflect"
)

var errCompare = errors.New("values of two kinds cannot be compared")

// equal reports whether a value equals one of the others. A missing value equals only another one, and
// an empty text.
func equal(value any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errCompare
	}
	for _, other := range others {
		if same, err := same(value, other); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func same(a, b any) (bool, error) {
	if a == nil || b == nil {
		return (a == nil || a == "") && (b == nil || b == ""), nil
	}
	if order, err := order(a, b); err == nil {
		return order == 0, nil
	}
	if t := reflect.TypeOf(a); t != reflect.TypeOf(b) || !t.Comparable() {
		return false, errCompare
	}
	return a == b, nil
}

// order compares two numbers of any form, or two texts.
func order(a, b any) (int, error) {
	x, isNumber, err := numeric(a)
	if err != nil {
		return 0, err
	}
	y, isToo, err := numeric(b)
	if err != nil {
		return 0, err
	}
	if isNumber && isToo {
		return x.Cmp(y), nil
	}
	left, right := reflect.ValueOf(a), reflect.ValueOf(b)
	if left.Kind() != reflect.String || right.Kind() != reflect.String {
		return 0, errCompare
	}
	return cmp.Compare(left.String(), right.String()), nil
}

// ordered returns the template's function that compares two values and accepts some orders.
func ordered(accept func(order int) bool) func(a, b any) (bool, error) {
	return func(a, b any) (bool, error) {
		order, err := order(a, b)
		return err == nil && accept(order), err
	}
}

// comparisons replace the functions of text/template, which cannot compare 19.90 with 10.
func comparisons() map[string]any {
	return map[string]any{
		"eq": equal,
		"ne": func(a, b any) (bool, error) {
			same, err := same(a, b)
			return err == nil && !same, err
		},
		"lt": ordered(func(order int) bool { return order < 0 }),
		"le": ordered(func(order int) bool { return order <= 0 }),
		"gt": ordered(func(order int) bool { return order > 0 }),
		"ge": ordered(func(order int) bool { return order >= 0 }),
	}
}
