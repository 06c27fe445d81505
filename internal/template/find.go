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

// anything is the event type or the channel of a row that applies to all.
const anything = "*"

// fallback is the last locale to try.
const fallback = "en"

// Chosen returns the row for a channel and a locale; false: there is none.
func (s *Set) Chosen(channel notification.Channel, locale string) (notification.Template, bool) {
	eventType, _ := s.event["type"].(string)
	k, found := s.find(eventType, string(channel), locale)
	return s.rows[k], found
}

// find returns the most specific row: first by event type, then by channel, then by locale.
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

// locales returns a locale, its language and the fallback, without duplicates.
func locales(locale string) []string {
	locale = canonical(locale)
	language, _, _ := strings.Cut(locale, "-")
	return slices.Compact([]string{locale, language, fallback})
}

// canonical returns a form in which it-CH and it_ch are equal.
func canonical(locale string) string {
	return strings.ToLower(strings.ReplaceAll(locale, "_", "-"))
}

// Usable returns why a row is unusable for every event; nil: it is usable. It checks that the
// templates parse, that their HTML can be escaped, and that they begin with existing fields. The
// error quotes only the template.
func Usable(row notification.Template) error {
	t := compile(row)
	if t.err != nil {
		return t.err
	}
	if err := t.body.escapable(); err != nil {
		return err
	}
	return checkRoots(row.EventType, row.Title, row.Body)
}

// UsableURL returns why a row's url is wrong for every event; nil: it is not.
func UsableURL(row notification.Template) error {
	if err := compile(row).urlErr; err != nil {
		return err
	}
	if fixed, _, varies := strings.Cut(row.URL, "{{"); !mayBegin(strings.TrimSpace(fixed), varies) {
		return ErrURL
	}
	return checkRoots(row.EventType, row.URL)
}

// mayBegin reports whether a url may begin with fixed. If varies is false, fixed is the whole url.
func mayBegin(fixed string, varies bool) bool {
	return fixed == "" || notification.IsLink(fixed) ||
		varies && (notification.IsLink(fixed+"x") || strings.HasPrefix("https://", fixed) || strings.HasPrefix("http://", fixed))
}

// escapable detects HTML that the HTML package refuses only at first use.
func (p templatePart) escapable() (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%s cannot be rendered", p.name)
		}
	}()
	var refused *htmltemplate.Error
	unused := &limited{ctx: context.Background(), start: time.Now()}
	if err := p.template.Execute(unused, map[string]any{}); errors.As(err, &refused) {
		cause, _, _ := strings.Cut(refused.Description, ": {") // the rest is the escaper's state
		return fmt.Errorf("the HTML of %s cannot be escaped: %.200s", p.name, cause)
	}
	return nil
}

// Serves reports whether a row exists for a channel and a locale, for the event type or for all.
func (s *Set) Serves(eventType string, channel notification.Channel, locale string) bool {
	_, found := s.find(eventType, string(channel), locale)
	return found
}
