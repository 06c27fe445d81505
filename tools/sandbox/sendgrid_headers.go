package sandbox

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// SendGrid's limits for categories.
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send/limitations
const (
	maxCategories = 10
	maxCategory   = 255 // characters
)

// reservedHeaders are headers that no e-mail may set, see
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors
var reservedHeaders = []string{
	"x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding",
	"to", "from", "subject", "reply-to", "cc", "bcc",
}

func (e *sendgridErrors) checkCategories(categories []string) {
	if len(categories) > maxCategories {
		e.add("categories", "You may not have more than %d categories.", maxCategories)
	}
	for i, category := range categories {
		if category == "" || len([]rune(category)) > maxCategory {
			e.add(fmt.Sprintf("categories.%d", i), "The category name must have 1 to %d characters.", maxCategory)
		}
		if slices.Contains(categories[:i], category) {
			e.add("categories", "The categories must be unique.")
		}
	}
}

// checkHeaders also checks the headers that a mailbox needs to show an unsubscribe button.
// SendGrid would forward a wrong header, and no mailbox would show the button.
func (e *sendgridErrors) checkHeaders(m *sendgridMail, local bool) {
	headers := m.lowerHeaders()
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch value := headers[name]; {
		case slices.Contains(reservedHeaders, name):
			e.add("headers", "The header %q is reserved.", name)
		case !isASCII(name) || !isASCII(value) || strings.ContainsAny(name+value, "\r\n"):
			e.add("headers", "The header %q must be ASCII, on one line.", name)
		}
	}
	if complaint := unsubscribeFlaw(headers, local); complaint != "" {
		e.add("headers", "%s", complaint)
	}
}

// lowerHeaders returns the headers by name in lower case.
func (m *sendgridMail) lowerHeaders() map[string]string {
	headers := map[string]string{}
	for name, value := range m.Headers {
		headers[strings.ToLower(name)] = value
	}
	return headers
}

// unsubscribeFlaw returns the mistake in the headers of RFC 2369 and RFC 8058, or "".
// If local, it also accepts http, which a gateway on this machine uses.
func unsubscribeFlaw(headers map[string]string, local bool) string {
	list, hasList := headers["list-unsubscribe"]
	oneClick, hasPost := headers["list-unsubscribe-post"]
	links := unsubscribeLinks(list)
	isWeb := func(u *url.URL) bool { return isWebURL(u) && (u.Scheme == "https" || local) }
	switch {
	case hasList && len(links) == 0:
		return "List-Unsubscribe must be addresses in angle brackets, separated by commas: <https://example.com/unsubscribe?token=1>."
	case hasPost && oneClick != "List-Unsubscribe=One-Click":
		return "List-Unsubscribe-Post must be List-Unsubscribe=One-Click."
	case hasPost && !slices.ContainsFunc(links, isWeb):
		return "List-Unsubscribe-Post needs a List-Unsubscribe with an address of https, for the POST of RFC 8058."
	default:
		return ""
	}
}

// unsubscribeLinks reads List-Unsubscribe: URIs in angle brackets, separated by commas. It
// returns no links if any part is invalid.
func unsubscribeLinks(header string) []*url.URL {
	var links []*url.URL
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		inside, opened := strings.CutPrefix(part, "<")
		inside, closed := strings.CutSuffix(inside, ">")
		u, err := url.Parse(inside)
		if !opened || !closed || err != nil || !isWebURL(u) && (u.Scheme != "mailto" || u.Opaque == "") || strings.ContainsAny(inside, " <>") {
			return nil
		}
		links = append(links, u)
	}
	return links
}

// unsubscribe returns the link that a mailbox's unsubscribe button posts to; empty: no button.
func (m *sendgridMail) unsubscribe() string {
	headers := m.lowerHeaders()
	for _, link := range unsubscribeLinks(headers["list-unsubscribe"]) {
		if isWebURL(link) && headers["list-unsubscribe-post"] != "" {
			return link.String()
		}
	}
	return ""
}
