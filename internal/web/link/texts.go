package link

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/text/language"

	"herald/internal/notification"
)

// texts holds the texts of the pages in one language. A text with %s takes the name of messages or of an
// entity.
type texts struct {
	Lang          string // of <html lang>
	Notifications string // heading of a page without a brand

	Channels map[notification.Channel]string // as in a sentence
	Messages string                          // of an unknown channel
	About    string                          // messages, category

	MustSend string // what nobody can switch off
	Choose   string // link to, and heading of, the preferences

	Stop, Unsubscribe, Stopped    string
	CannotStop, CannotStopBody    string
	Broken, BrokenBody            string // the request failed
	Incomplete, IncompleteBody    string // the token is invalid
	Gone, GoneBody                string // the address or the person of the link has changed
	GetThese                      string // switch of a channel
	DigestAt, DigestHint          string
	Save, Saved                   string
	NotSaved, NothingToChoose     string
	MuteAsk, MuteBody, Mute       string
	Muted, MutedBody, Unmute      string
	Unmuted, UnmutedBody, TooMany string
}

// languages holds the texts, first the texts for people whose language is not here.
var languages = []*texts{&english, &italian, &german, &french, &spanish}

var matcher = language.NewMatcher(tagsOf(languages))

func tagsOf(all []*texts) (tags []language.Tag) {
	for _, t := range all {
		tags = append(tags, language.MustParse(t.Lang))
	}
	return tags
}

// textsFor returns the texts for a recipient's locale, else for the languages of their browser, in the form
// of Accept-Language.
func textsFor(locale, browser string) *texts {
	_, i := language.MatchStrings(matcher, strings.ReplaceAll(locale, "_", "-"), browser)
	return languages[i]
}

// messages names what comes over a channel.
func (t *texts) messages(channel notification.Channel) string {
	return cmp.Or(t.Channels[channel], t.Messages)
}

// what names what comes of a category over a channel; of an empty one: all.
func (t *texts) what(category string, channel notification.Channel) string {
	if category == "" {
		return t.messages(channel)
	}
	return fmt.Sprintf(t.About, t.messages(channel), words(category))
}

// words writes an identifier as words.
func words(id string) string {
	return strings.NewReplacer("-", " ", "_", " ").Replace(id)
}
