package template

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Slack's markup has links such as <https://example.com|Open>, and mentions such as <!channel>. A
// template for SLACK may have both. mrkdwnData escapes data and marks its ends. So mrkdwn knows which
// text between < and > comes from the template.
// https://docs.slack.dev/messaging/formatting-message-text
const (
	dataBegins = "\x01"
	dataEnds   = "\x02"
)

// mrkdwnText is a text with Slack's markup, as planning wrote it.
type mrkdwnText string

var escapeMrkdwn = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", dataBegins, "", dataEnds, "")

func mrkdwnData(value any) string {
	if text, ok := value.(mrkdwnText); ok {
		return string(text)
	}
	return dataBegins + escapeMrkdwn.Replace(fmt.Sprint(shown(value))) + dataEnds
}

var (
	// ownLink and ownMention match the markup of a template. Data may name a person or a channel, but not
	// a group such as !here.
	ownLink    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:[^ ]`)
	ownMention = regexp.MustCompile(`^(?:[@#]\x01?|!)[A-Za-z]`)
	// bareLink matches a link outside of markup. Data may be a part of it.
	bareLink = regexp.MustCompile(`^\x01?https?://\x01?[\pL\pN\[](?:&amp;|[^\s\pZ<>|"` + "`" + `&\x{3000}-\x{303F}\x{FF00}-\x{FF60}])*`)
	entity   = regexp.MustCompile(`^(?:amp|lt|gt);`)
)

// mrkdwn returns a rendered text in Slack's markup. Links outside of markup become links, because
// Slack is told to leave the text alone: otherwise it would find mentions in data.
func (e Engine) mrkdwn(text string) (string, error) {
	var out strings.Builder
	for text = escapeAmpersands(text); text != ""; {
		size := 1
		switch last, _ := utf8.DecodeLastRuneInString(out.String()); {
		case text[0] == '<':
			markup, length, err := e.markup(text)
			if err != nil {
				return "", err
			}
			size = length
			out.WriteString(markup)
		case text[0] == '>':
			out.WriteString("&gt;")
		case !unicode.IsLetter(last) && !unicode.IsDigit(last) && bareLink.MatchString(text):
			link := withoutPunctuation(bareLink.FindString(text))
			size = len(link)
			out.WriteString("<" + unmarked(link) + ">")
		case text[:1] != dataBegins && text[:1] != dataEnds:
			out.WriteByte(text[0])
		}
		text = text[size:]
	}
	if out.Len() > maxBytes {
		return "", errTooLong
	}
	return out.String(), nil
}

// escapeAmpersands escapes each & that begins no entity.
func escapeAmpersands(text string) string {
	parts := strings.Split(text, "&")
	for i := range parts[1:] {
		if !entity.MatchString(parts[i+1]) {
			parts[i+1] = "amp;" + parts[i+1]
		}
	}
	return strings.Join(parts, "&")
}

// markup reads a link or a mention at the start of a text, and returns its length there. Any other < is
// a plain one.
func (e Engine) markup(text string) (markup string, length int, err error) {
	inside, _, closed := strings.Cut(text[1:], ">")
	target, label, labelled := cutLabel(inside)
	isData := strings.HasPrefix(inside, dataBegins) // it says where the link leads
	switch {
	case !closed || strings.Contains(inside, "<"), !isData && !ownLink.MatchString(inside) && !ownMention.MatchString(inside):
		return "&lt;", 1, nil
	case isData || ownLink.MatchString(inside):
		target = strings.ReplaceAll(strings.Join(strings.Fields(unmarked(target)), "%20"), "|", "%7C")
	default:
		target = strings.ReplaceAll(unmarked(target), "|", " ")
	}
	if scheme, found := schemeOf(target); isData && (!found || !e.allows(scheme)) {
		return "", 0, errLink
	}
	if labelled {
		target += "|" + strings.Join(strings.Fields(unmarked(label)), " ")
	}
	return "<" + target + ">", len(inside) + len("<>"), nil
}

// cutLabel cuts at the template's own bar.
func cutLabel(inside string) (target, label string, found bool) {
	isData := false
	for i := range len(inside) {
		switch inside[i : i+1] {
		case dataBegins:
			isData = true
		case dataEnds:
			isData = false
		case "|":
			if !isData {
				return inside[:i], inside[i+1:], true
			}
		}
	}
	return inside, "", false
}

var unmark = strings.NewReplacer(dataBegins, "", dataEnds, "")

func unmarked(text string) string { return unmark.Replace(text) }

// withoutPunctuation removes the characters that end the sentence, not the link.
func withoutPunctuation(link string) string {
	for {
		last := link[len(link)-1:]
		switch {
		case strings.HasSuffix(link, "&amp;"):
			link = strings.TrimSuffix(link, "&amp;")
		case last == ")" && strings.Contains(link, "("):
			return link
		case strings.Contains(".,:;!?)]}'*_~"+dataEnds, last):
			link = link[:len(link)-1]
		default:
			return link
		}
	}
}

var (
	labelledLink = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9+.-]*:[^<>|]+)\|([^<>]*)>`)
	plainMarkup  = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9+.-]*:[^<>]+|[@#!][^<>]+)>`)
	unescape     = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// withoutMrkdwn returns the plain text of a body for SLACK.
func withoutMrkdwn(body string) string {
	body = labelledLink.ReplaceAllString(body, "$2 ($1)")
	return unescape.Replace(plainMarkup.ReplaceAllString(body, "$1"))
}
