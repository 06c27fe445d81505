package template

import (
	"errors"
	"fmt"
	"regexp"
	"text/template"
)

// functions bounds those functions of text/template that could fill the memory: by a
// text that a loop appends to itself, or by a number a million columns wide.
func functions() map[string]any {
	return map[string]any{
		"print":    bounded(fmt.Sprint),
		"println":  bounded(fmt.Sprintln),
		"html":     bounded(template.HTMLEscaper),
		"js":       bounded(template.JSEscaper),
		"urlquery": bounded(template.URLQueryEscaper),
		"printf":   boundedPrintf,
	}
}

func bounded(f func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		return fit(f(args...))
	}
}

// maxFormat is in bytes.
const maxFormat = 256

var (
	errFormat = errors.New("the format of printf is longer than 256 bytes, or wider than 999 columns")
	// tooWide finds a width or precision that has four digits or is an argument.
	tooWide = regexp.MustCompile(`[0-9]{4}|\*`)
)

func boundedPrintf(format string, args ...any) (string, error) {
	if len(format) > maxFormat || tooWide.MatchString(format) {
		return "", errFormat
	}
	return fit(fmt.Sprintf(format, args...))
}

func fit(text string) (string, error) {
	if len(text) > maxBytes {
		return "", errTooLong
	}
	return text, nil
}
