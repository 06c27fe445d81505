package template

import (
	"context"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// anything is the event type, or the channel, of a row for all of them.
const anything = "*"

// fallback is the locale of last resort.
const fallback = "en"

// Chosen returns the row from which the text for a channel and a locale is written;
// false: there is none.
func (s *Set) Chosen(channel notification.Channel, locale string) (notification.Template, bool) {
	eventType, _ := s.event["type"].(string)
	k, found := s.find(eventType, string(channel), locale)
	return s.rows[k], found
}

// find returns the most specific row. The event type weighs most, then the channel,
// then the locale.
func (s *Set) find(eventType, channel, locale string) (key, bool) {
	for _, e := range []string{s.before, eventType, anything} {
		for _, c := range []string{channel, anything} {
			for _, l := range locales(locale) {
				k := key{e, c, l}
				if _, found := s.rows[k]; found {
					return k, true
				}
			}
		}
	}
	return key{}, false
}

// locales returns a locale, its language and the fallback, each once.
func locales(locale string) []string {
	locale = canonical(locale)
	language, _, _ := strings.Cut(locale, "-")
	return slices.Compact([]string{locale, language, fallback})
}

// canonical is the form in which it-CH and it_ch are the same.
func canonical(locale string) string {
	return strings.ToLower(strings.ReplaceAll(locale, "_", "-"))
}

// Usable says why a row can be used for no event at all; nil: its templates can be
// parsed, their HTML can be escaped, and they begin with fields that there are. The error
// quotes the template alone.
func Usable(row notification.Template) error {
	t := compile(row)
	if t.err != nil {
		return t.err
	}
	if err := t.body.escapable(); err != nil {
		return err
	}
	return checkRoots(row)
}

// escapable looks for what the HTML package refuses at the first use only.
func (p templatePart) escapable() (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%s cannot be rendered", p.name)
		}
	}()
	var refused *htmltemplate.Error
	unused := &limited{ctx: context.Background(), start: time.Now()}
	if err := p.template.Execute(unused, map[string]any{}); errors.As(err, &refused) {
		cause, _, _ := strings.Cut(refused.Description, ": {") // what follows is the state of the escaper
		return fmt.Errorf("the HTML of %s cannot be escaped: %.200s", p.name, cause)
	}
	return nil
}

// Serves says whether there is a row for an event type, or for every one, over a
// channel in a locale.
func (s *Set) Serves(eventType string, channel notification.Channel, locale string) bool {
	_, found := s.find(eventType, string(channel), locale)
	return found
}
