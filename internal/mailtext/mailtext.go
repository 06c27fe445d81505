// Package mailtext writes the plain-text part of a mail: what is sent, and what a
// preview shows.
package mailtext

import (
	"strings"

	"github.com/k3a/html2text"
)

// Plain is the HTML of a mail without markup, or its title if nothing is left, since
// SendGrid refuses an empty part.
func Plain(title, html string) string {
	text := html2text.HTML2TextWithOptions(escapeStray(html), html2text.WithUnixLineBreaks(), html2text.WithLinksInnerText(), html2text.WithListSupport())
	if text = strings.TrimSpace(text); text == "" {
		return title
	}
	return text
}

// escapeStray escapes each ">" that ends no tag. The library would take it for the end
// of a tag and drop it. Its time grows with the square of their number: a body of
// 64 KiB of them takes seconds.
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
