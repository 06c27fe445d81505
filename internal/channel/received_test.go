package channel_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
)

// detailOf returns the detail of a receipt that a provider explains by reason.
func detailOf(t *testing.T, reason, email string) string {
	t.Helper()
	var received channel.Received
	received.Add(notification.Receipt{ID: "1", DeliveryID: "d", Word: "bounce", Detail: reason, Address: email})
	require.Len(t, received.Receipts, 1)
	return received.Receipts[0].Detail
}

func TestWithoutAddress(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, reason, email, want string
	}{
		{name: "nothing"},
		{name: "no address", reason: "mailbox full", email: "ada@example.com", want: "mailbox full"},
		{name: "in brackets", reason: "550 <ada@example.com>: unknown", email: "ada@example.com", want: "550 [address] unknown"},
		{name: "of another person", reason: "relayed by postmaster@example.org.", email: "ada@example.com", want: "relayed by [address]"},
		{name: "in another case", reason: "no mailbox ADA@EXAMPLE.COM", email: "Ada@Example.com", want: "no mailbox [address]"},
		{name: "only the local part", reason: "user 'ada.l' is unknown", email: "Ada.L@example.com", want: "user '[address]' is unknown"},
		{name: "the local part within a word", reason: "adamant refusal", email: "ada@example.com", want: "adamant refusal"},
		{name: "a quoted local part", reason: `no user "ada l"@example.com`, email: `"ada l"@example.com`, want: "no user [address]"},
		{name: "in a link", reason: "see https://example.com/?m=ada%40example.com", email: "ada@example.com", want: "see [address]"},
		{name: "several lines", reason: "550-5.1.1\r\n550 gone\x00\x1b[31m", email: "ada@example.com", want: "550-5.1.1 550 gone [31m"},
		{name: "broken text", reason: "a\xffb", want: "a\ufffdb"},
		{name: "long", reason: strings.Repeat("é", 1000), want: strings.Repeat("é", 250)},
		{name: "a local part that is too long", reason: "unknown", email: strings.Repeat("a", 1<<20) + "@example.com", want: "[address]"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, detailOf(t, tt.reason, tt.email), tt.name)
	}
}

// FuzzWithoutAddress varies both the reason and the address of a receipt.
func FuzzWithoutAddress(f *testing.F) {
	f.Add("550 <ada@example.com>: no user ada", "ada@example.com")
	f.Add("(?i)[", "[[[@")
	f.Add("\xff\x00", "\xff\xff\xff@")
	f.Fuzz(func(t *testing.T, reason, email string) {
		got := detailOf(t, reason, email)
		if len(got) > 500 || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || strings.Contains(got, "@") {
			t.Errorf("%q", got)
		}
	})
}

// Answers without a valid id and a phone number do not count.
func TestAddOptOut(t *testing.T) {
	t.Parallel()

	wrong := []notification.OptOut{
		{Number: "+393401234567"}, {MessageID: "SM1"}, {MessageID: "SM1", Number: "whatsapp:+393401234567"}, {MessageID: "SM1", Number: "12345"},
		{MessageID: "SM\x00", Number: "+393401234567"}, {MessageID: strings.Repeat("x", 300), Number: "+393401234567"},
	}
	right := notification.OptOut{MessageID: "SM1", Number: "+393401234567"}
	var received channel.Received
	for _, answer := range append(wrong, right) {
		received.AddOptOut(answer)
	}
	require.Equal(t, channel.Received{OptOuts: []notification.OptOut{right}, Malformed: len(wrong)}, received)
}
