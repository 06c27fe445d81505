package sandbox_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

const (
	oneClick = "List-Unsubscribe=One-Click"
	link     = "https://herald.example.com/unsubscribe?token=v1.abc"
)

func mailWithHeaders(headers object) object { return mailWith(object{"headers": headers}) }

// The ledger and the page show the link of a mailbox's unsubscribe button.
func TestMailUnsubscribe(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		mail any
		want string
	}{
		"one click": {mail: mailWithHeaders(object{"List-Unsubscribe": "<" + link + ">", "List-Unsubscribe-Post": oneClick}), want: link},
		"next to a mail": {mail: mailWithHeaders(object{
			"List-Unsubscribe": "<mailto:stop@example.com>, <" + link + ">", "List-Unsubscribe-Post": oneClick,
		}), want: link},
		"a mail alone":   {mail: mailWithHeaders(object{"List-Unsubscribe": "<mailto:stop@example.com>"})},
		"two clicks":     {mail: mailWithHeaders(object{"List-Unsubscribe": "<" + link + ">"})},
		"another header": {mail: mailWithHeaders(object{"X-Priority": "1"})},
	} {
		b := start(t)
		b.expect(t, http.StatusAccepted, mailCall(tt.mail))
		require.Equal(t, tt.want, b.only(t).Unsubscribe, name)
		page := b.get(t, "/")
		require.Equal(t, tt.want != "", strings.Contains(page, `href="`+link+`"`), name)
	}
}

func TestMailHeadersRefused(t *testing.T) {
	t.Parallel()

	requireAnswers(t, map[string]answered{
		"no brackets":   refused("headers", mailWithHeaders(object{"List-Unsubscribe": link})),
		"an empty link": refused("headers", mailWithHeaders(object{"List-Unsubscribe": "<>"})),
		"another word": refused("headers",
			mailWithHeaders(object{"List-Unsubscribe": "<" + link + ">", "List-Unsubscribe-Post": "One-Click"})),
		"one click of nothing": refused("headers", mailWithHeaders(object{"List-Unsubscribe-Post": oneClick})),
		"one click by mail": refused("headers",
			mailWithHeaders(object{"List-Unsubscribe": "<mailto:stop@example.com>", "List-Unsubscribe-Post": oneClick})),
		"one click in clear text": refused("headers",
			mailWithHeaders(object{"List-Unsubscribe": "<http://herald.example.com/unsubscribe>", "List-Unsubscribe-Post": oneClick})),
		"reserved":          refused("headers", mailWithHeaders(object{"Reply-To": "eve@example.com"})),
		"a line break":      refused("headers", mailWithHeaders(object{"X-A": "a\r\nBcc: eve@example.com"})),
		"not ASCII":         refused("headers", mailWithHeaders(object{"X-A": "à"})),
		"eleven categories": refused("categories", mailWith(object{"categories": strings.Split("abcdefghijk", "")})),
		"a category twice":  refused("categories", mailWith(object{"categories": []string{"a", "a"}})),
		"a long category":   refused("categories.0", mailWith(object{"categories": []string{strings.Repeat("a", 256)}})),
		"an empty category": refused("categories.0", mailWith(object{"categories": []string{""}})),
	})
}

// A local sandbox accepts links to a local gateway.
func TestMailUnsubscribeOfALocalSandbox(t *testing.T) {
	t.Parallel()

	b := startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true})
	mail := mailWithHeaders(object{"List-Unsubscribe": "<http://127.0.0.1:8080/unsubscribe?token=1>", "List-Unsubscribe-Post": oneClick})
	b.expect(t, http.StatusAccepted, mailCall(mail))
	require.Equal(t, "http://127.0.0.1:8080/unsubscribe?token=1", b.only(t).Unsubscribe)
}
