package template

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// maxFormat is in bytes.
const maxFormat = 256

var (
	errFormat = errors.New("the format of printf is longer than 256 bytes, or wider than 999 columns")
	errVerb   = errors.New("the format of printf does not fit the value")
	// tooWide matches a width or precision with four digits or from an argument.
	tooWide = regexp.MustCompile(`[0-9]{4}|\*`)
	// directive matches a verb with its flags, the places of its arguments, its width and its precision.
	directive = regexp.MustCompile(`%[-+# 0]*(?:\[[^\]]*\])?[0-9]*(?:\.(?:\[[^\]]*\])?[0-9]*)?(?:\[[^\]]*\])?(?s:.)?`)
)

// printf is fmt.Sprintf, but fails instead of writing a text such as %!d(string=12). It does not search
// the text for "%!", because the payload may contain that.
func printf(format string, args ...any) (string, error) {
	if len(format) > maxFormat || tooWide.MatchString(format) {
		return "", errFormat
	}
	var verbs strings.Builder
	for _, verb := range directive.FindAllString(format, -1) {
		if len(verb) == 1 || !strings.HasSuffix(verb, "%") {
			verbs.WriteString(verb)
		}
	}
	flawed := false
	probes := make([]any, len(args))
	for i, arg := range args {
		probes[i] = probe{arg, &flawed}
	}
	// Probes print nothing, so every text is from fmt: about an argument too many or too few, or about %T.
	if fmt.Sprintf(verbs.String(), probes...) != "" || flawed {
		return "", errVerb
	}
	return fit(fmt.Sprintf(format, args...))
}

// probe records whether the verb fits its value.
type probe struct {
	value  any
	flawed *bool
}

// Format implements [fmt.Formatter].
func (p probe) Format(s fmt.State, verb rune) {
	if !suits(reflect.ValueOf(p.value), s, verb) {
		*p.flawed = true
	}
}

// suits reports whether fmt can print the value with the verb. It looks at each value of a list and of
// an object, as fmt does.
func suits(value reflect.Value, s fmt.State, verb rune) bool {
	for value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if !value.IsValid() {
		return false
	}
	if n, ok := value.Interface().(number); ok {
		precision, limited := s.Precision()
		_, ok := n.operand(verb, precision, limited)
		return ok
	}
	switch value.Kind() {
	case reflect.Slice:
		for i := range value.Len() {
			if !suits(value.Index(i), s, verb) {
				return false
			}
		}
		return true
	case reflect.Map:
		for _, key := range value.MapKeys() {
			if !suits(key, s, verb) || !suits(value.MapIndex(key), s, verb) {
				return false
			}
		}
		return true
	case reflect.String:
		return !strings.Contains(fmt.Sprintf(fmt.FormatString(s, verb), "x"), "%!")
	default:
		return !strings.Contains(fmt.Sprintf(fmt.FormatString(s, verb), value.Interface()), "%!")
	}
}
