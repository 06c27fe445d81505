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
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.Trim(u.Path, "/") == "" || strings.ContainsFunc(text, unicode.IsSpace) {
		return "", NotURL
	}
	return text, ""
}
