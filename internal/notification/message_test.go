package notification

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsLink(t *testing.T) {
	t.Parallel()

	for _, address := range []string{
		"/", "/orders/7?tab=a#b", "/à", "https://app.example.com", "https://app.example.com:8443/orders/7", "HTTPS://example.com/",
		"http://localhost:3000/x", "http://127.0.0.1/", "http://[::1]:80/", "/" + strings.Repeat("a", 2047),
	} {
		require.True(t, IsLink(address), address)
	}
	for _, address := range []string{
		"", "orders/7", "//evil.example.com", `/\evil.example.com`, `\\evil.example.com`, "/\t/evil.example.com", "\t//evil.example.com",
		"/a\nb", "/a b",
		"javascript:alert(1)", "JavaScript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "mailto:ada@example.com",
		"http://example.com", "http://localhost.example.com",
		"http://127.0.0.1.example.com", "https://", "https:///x", "https:example.com", "https://:443/", "https://ada@example.com",
		"https://app.example.com@evil.example.com", "https://%zz", "/" + strings.Repeat("a", 2048),
	} {
		require.False(t, IsLink(address), address)
	}
}
