// Package mailtext makes the plain-text part of an e-mail, for sending and for previews.
package mailtext

import (
	"regexp"
	"strings"

	"github.com/k3a/html2text"
)

// comment matches a comment, also one with what Outlook alone shows.
var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

// Plain returns an e-mail's HTML as plain text. If the text is empty, it returns the title, because
// SendGrid refuses an empty part.
func Plain(title, html string) string {
	html = comment.ReplaceAllString(html, "")
	text := html2text.HTML2TextWithOptions(escapeStray(html), html2text.WithUnixLineBreaks(), html2text.WithLinksInnerText(),
		html2text.WithListSupport())
	if text = strings.TrimSpace(text); text == "" {
		return title
	}
	return text
}

// escapeStray escapes each ">" that ends no tag. The library would treat it as the end of a tag and
// drop it. The library's time grows with the square of the number of such characters: a body of 64
// KiB takes seconds.
func escapeStray(html string) string {
	var b strings.Builder
	inTag := false
	for _, r := range html {
		if r == '>' && !inTag {
			b.WriteString("&gt;")
			continue
		}
		inTag = r == '<' || inTag && r != '>'
		b.WriteRune(r)
	}
	return b.String()
}
