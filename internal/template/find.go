package template

import (
	"strings"

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
	accepted := locales(locale)
	for _, e := range []string{s.before, eventType, anything} {
		for _, c := range []string{channel, anything} {
			for _, l := range accepted {
				k := key{e, c, l}
				if _, found := s.rows[k]; found {
					return k, true
				}
			}
		}
	}
	return key{}, false
}

// locales returns a locale, then the locale without its last part, and so on, and the fallback: the
// lookup of RFC 4647, section 3.4. A part of one letter only introduces the next part.
func locales(locale string) []string {
	var all []string
	parts := strings.Split(canonical(locale), "-")
	for n := len(parts); n > 0; n-- {
		if len(parts[n-1]) > 1 {
			all = append(all, strings.Join(parts[:n], "-"))
		}
	}
	return append(all, fallback)
}

// scripts maps POSIX's names of scripts to the subtags of BCP 47.
var scripts = map[string]string{"latin": "latn", "cyrillic": "cyrl", "arabic": "arab", "devanagari": "deva"}

// canonical returns a form in which it-CH and it_ch are equal. It keeps POSIX's script, and drops its
// encoding: sr_RS.UTF-8@latin is sr-latn-rs.
func canonical(locale string) string {
	locale, modifier, _ := strings.Cut(strings.ToLower(strings.TrimSpace(locale)), "@")
	locale, _, _ = strings.Cut(locale, ".")
	language, rest, found := strings.Cut(strings.ReplaceAll(locale, "_", "-"), "-")
	if script := scripts[modifier]; script != "" {
		language += "-" + script
	}
	if found {
		language += "-" + rest
	}
	return language
}

// Usable returns why a row is unusable for every event; nil: it is usable. It checks that the
// templates parse, that their HTML can be escaped, and that they begin with existing fields. The
// error quotes only the template.
func (e Engine) Usable(row notification.Template) error {
	t := e.compile(row)
	if t.err != nil {
		return t.err
	}
	if err := checkRoots(row.EventType, row.Title, row.Body); err != nil {
		return err
	}
	return checkLayout(row)
}

// UsableURL returns why a row's url is wrong for every event; nil: it is not.
func UsableURL(row notification.Template) error {
	if err := (Engine{}).compile(row).urlErr; err != nil {
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

// Serves reports whether a row exists for a channel and a locale, for the event type or for all.
func (s *Set) Serves(eventType string, channel notification.Channel, locale string) bool {
	_, found := s.find(eventType, string(channel), locale)
	return found
}
