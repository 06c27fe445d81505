package template

import (
	"slices"
	"strings"

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
