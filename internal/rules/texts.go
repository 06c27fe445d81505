package rules

import (
	"fmt"
	"regexp"
	"strings"

	"herald/internal/notification"
)

// Texts may be in files next to the rules: reservation-requested.email.en.html has the body of the
// e-mail in English. The name of the file follows from the keys of the text, so no key names it.
const (
	htmlExtension = ".html"
	textExtension = ".txt"
)

var (
	wordBoundary = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	notInNames   = regexp.MustCompile(`[^a-z0-9]+`)
)

// kebab returns reservation-requested for RESERVATION_REQUESTED and order-created for OrderCreated.
func kebab(name string) string {
	name = strings.ToLower(wordBoundary.ReplaceAllString(name, "$1-$2"))
	return strings.Trim(notInNames.ReplaceAllString(name, "-"), "-")
}

// textFile returns the name of the file that may hold the text of a row.
func (s *section) textFile(eventType string, values map[string]any) string {
	parts := []string{}
	if eventType != "" {
		parts = append(parts, kebab(eventType)+s.suffix)
	}
	extension := htmlExtension
	for _, key := range s.nest {
		value := fmt.Sprint(values[key])
		if key == "channel" && notification.Channel(value) != notification.Email {
			extension = textExtension
		}
		switch {
		case value == "*":
			value = "all"
		case key == "locale":
			value = strings.ReplaceAll(value, "/", "-")
		default:
			value = strings.ToLower(value)
		}
		parts = append(parts, value)
	}
	return strings.Join(parts, ".") + extension
}

// text returns the text of a row, from the rules or else from its file. fromFile is the name of that
// file. [Load] refuses files whose text no row has.
func (l *loading) text(at place, values map[string]any, c column) (text any, fromFile string, found bool) {
	if text, found = values[c.name]; found {
		return text, "", true
	}
	name := at.section.textFile(at.file.eventType, values)
	taken, exists := l.texts[name]
	switch {
	case !exists:
		return nil, "", false
	case taken:
		l.refuse(at.file.name, at.line, "%s has the %s of another row: write this %s here", name, c.name, c.name)
		return nil, "", false
	}
	l.texts[name] = true
	content, err := l.read(name)
	if err != nil {
		l.refuse(name, 1, "%s", err)
	}
	return strings.TrimSuffix(string(content), "\n"), name, true
}
