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
		"one click":        {mail: mailWithHeaders(object{"List-Unsubscribe": "<" + link + ">", "List-Unsubscribe-Post": oneClick}), want: link},
		"of one recipient": {mail: mailTo(object{"headers": object{"list-unsubscribe": "<" + link + ">", "list-unsubscribe-post": oneClick}}), want: link},
		"next to a mail":   {mail: mailWithHeaders(object{"List-Unsubscribe": "<mailto:stop@example.com>, <" + link + ">", "List-Unsubscribe-Post": oneClick}), want: link},
		"a mail alone":     {mail: mailWithHeaders(object{"List-Unsubscribe": "<mailto:stop@example.com>"})},
		"two clicks":       {mail: mailWithHeaders(object{"List-Unsubscribe": "<" + link + ">"})},
		"another header":   {mail: mailWithHeaders(object{"X-Priority": "1"})},
	} {
		b := start(t)
		status, _, body := b.answer(t, mailCall(tt.mail))
		require.Equal(t, http.StatusAccepted, status, body)
		require.Equal(t, tt.want, b.only(t).Unsubscribe, name)
		_, _, page := b.answer(t, call{method: http.MethodGet, path: "/"})
		require.Equal(t, tt.want != "", strings.Contains(page, `href="`+link+`"`), name)
	}
}

func TestMailHeadersRefused(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		mail  any
		field string
	}{
		"no brackets":             {mail: mailWithHeaders(object{"List-Unsubscribe": link}), field: "headers"},
		"an empty link":           {mail: mailWithHeaders(object{"List-Unsubscribe": "<>"}), field: "headers"},
		"another word":            {mail: mailWithHeaders(object{"List-Unsubscribe": "<" + link + ">", "List-Unsubscribe-Post": "One-Click"}), field: "headers"},
		"one click of nothing":    {mail: mailWithHeaders(object{"List-Unsubscribe-Post": oneClick}), field: "headers"},
		"one click by mail":       {mail: mailWithHeaders(object{"List-Unsubscribe": "<mailto:stop@example.com>", "List-Unsubscribe-Post": oneClick}), field: "headers"},
		"one click in clear text": {mail: mailWithHeaders(object{"List-Unsubscribe": "<http://herald.example.com/unsubscribe>", "List-Unsubscribe-Post": oneClick}), field: "headers"},
		"reserved":                {mail: mailWithHeaders(object{"Reply-To": "eve@example.com"}), field: "headers"},
		"reserved for one":        {mail: mailTo(object{"headers": object{"BCC": "eve@example.com"}}), field: "personalizations.0.headers"},
		"a line break":            {mail: mailWithHeaders(object{"X-A": "a\r\nBcc: eve@example.com"}), field: "headers"},
		"not ASCII":               {mail: mailWithHeaders(object{"X-A": "à"}), field: "headers"},
		"eleven categories":       {mail: mailWith(object{"categories": strings.Split("abcdefghijk", "")}), field: "categories"},
		"a category twice":        {mail: mailWith(object{"categories": []string{"a", "a"}}), field: "categories"},
		"a long category":         {mail: mailWith(object{"categories": []string{strings.Repeat("a", 256)}}), field: "categories.0"},
		"an empty category":       {mail: mailWith(object{"categories": []string{""}}), field: "categories.0"},
	} {
		b := start(t)
		status, _, body := b.answer(t, mailCall(tt.mail))
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Contains(t, body, `"field":"`+tt.field+`"`, name)
	}
}

// A local sandbox accepts links to a local gateway.
func TestMailUnsubscribeOfALocalSandbox(t *testing.T) {
	t.Parallel()

	b := startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true})
	mail := mailWithHeaders(object{"List-Unsubscribe": "<http://127.0.0.1:8080/unsubscribe?token=1>", "List-Unsubscribe-Post": oneClick})
	status, _, body := b.answer(t, mailCall(mail))
	require.Equal(t, http.StatusAccepted, status, body)
	require.Equal(t, "http://127.0.0.1:8080/unsubscribe?token=1", b.only(t).Unsubscribe)
}
