package mailtext_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/mailtext"
)

// What Outlook alone shows is in no plain text, and what all others show is.
func TestPlainWithoutComments(t *testing.T) {
	t.Parallel()

	for html, want := range map[string]string{
		`<!--[if mso]><table><tr><td>Outlook<![endif]--><p>Hi</p><!--[if mso]></td></tr></table><![endif]-->`: "Hi",
		`<!--[if !mso]><!--><p>Hi</p><!--<![endif]-->`:                                                        "Hi",
		`<![if !mso]><p>Hi</p><![endif]>`:                                                                     "Hi",
		"<!--[if mso]>\n<v:roundrect href=\"https://x.example\">Open</v:roundrect>\n<![endif]--><a " +
			"href=\"https://x.example\">Open</a>": "Open <https://x.example>",
		`a <!-- b > c --> d`: "a d",
		`<!-- b -->`:         "Title",
	} {
		require.Equal(t, want, mailtext.Plain("Title", html), html)
	}
}
