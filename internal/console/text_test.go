package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]string{
		"plain": "plain", "città 東京 👋": "città 東京 👋",
		"a\nb\tc\rd": "a b c d", "\x1b[31mred": "\ufffd[31mred", "\u009b31m": "\ufffd31m", "bell\a\x7f": "bell\ufffd\ufffd",
		"\u202egpj.exe\u202c": "\ufffdgpj.exe\ufffd", "\u2066x\u2069\u2028\u2029": "\ufffdx\ufffd\ufffd\ufffd", "\x9b": "\ufffd", "a\u200fb\u061cc": "a\ufffdb\ufffdc",
	} {
		require.Equal(t, want, Printable(value))
	}
	require.Equal(t, "first\n  next: rm\ufffd", PrintableLines("first\nnext: rm\x00"))
}

func TestGrouped(t *testing.T) {
	t.Parallel()

	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, Grouped(n))
	}
}
