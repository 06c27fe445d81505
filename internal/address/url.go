package address

import (
	"net/url"
	"strings"
	"unicode"
)

// NotURL is the flaw of a webhook.
const NotURL Flaw = "that is not a URL such as https://example.com/hooks/1"

func normalURL(text string) (string, Flaw) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "", strings.Trim(u.Path, "/") == "":
		return "", NotURL
	case strings.ContainsFunc(text, unicode.IsSpace):
		return "", NotURL
	default:
		return text, ""
	}
}
