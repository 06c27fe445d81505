package address_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/address"
	"herald/internal/notification"
)

// The spellings of an address lead to one form, which is its own form.
func TestNormal(t *testing.T) {
	t.Parallel()

	tests := []struct {
		channel notification.Channel
		want    string
		written []string
	}{
		{notification.Email, "pat@example.com", []string{
			"pat@example.com", " pat@example.com\n", "\u00a0pat@example.com\u3000", "\u200bpat@example.com\ufeff", "\tpat@EXAMPLE.com",
			"\u202apat@example.com\u202c", "pat@exam\u00adple.com", "pat@example．com",
		}},
		{notification.Email, "Pat.O'Neil+x@example.com", []string{"Pat.O'Neil+x@example.com", "Pat.O'Neil+x@Example.COM "}},
		{notification.Email, "anna@xn--mller-kva.example", []string{
			"anna@müller.example", "anna@MÜLLER.example", "anna@mu\u0308ller.example", "anna@xn--mller-kva.example", "anna@XN--MLLER-KVA.example",
		}},
		{notification.Email, "anna@xn--strae-oqa.example", []string{"anna@straße.example"}},
		{notification.Email, "info@xn--fsqu00a.xn--0zwm56d", []string{"info@例子.测试", "info@例子。测试"}},
		{notification.Email, "jörg@example.com", []string{"jörg@example.com"}},
		{notification.Email, `"ada."@docomo.example`, []string{"ada.@docomo.example", `"ada."@docomo.example`}},
		{notification.Email, `"a..b"@example.com`, []string{"a..b@example.com", `"a..b"@example.com`}},
		{notification.Email, `".ada"@example.com`, []string{".ada@example.com"}},
		{notification.Email, `"john doe"@example.com`, []string{`"john doe"@example.com`}},
		{notification.Email, `"a\"b\\c,@"@example.com`, []string{`"a\"b\\c,@"@example.com`}},
		{notification.Email, "pat@example.com", []string{`"pat"@example.com`}},
		{notification.Email, "pat@localhost", []string{"pat@localhost"}},
		{notification.Email, "pat@mail_1.example.com", []string{"pat@mail_1.example.com"}},
		{notification.Email, "pat@[192.0.2.1]", []string{"pat@[192.0.2.1]"}},
		{notification.Email, "pat@[IPv6:2001:db8::1]", []string{"pat@[IPv6:2001:db8::1]"}},

		{notification.SMS, "+41791234567", []string{
			"+41791234567", "+41 79 123 45 67", "+41-79-123-45-67", "+41 (79) 123.45/67", "0041 79 1234567", " +41791234567 ",
			"+41\u00a079\u202f123\u200745\u200967", "\u202a+41791234567\u202c", "+41‑79–123—45‒67", "+41−79 123 45 67", "＋４１７９１２３４５６７",
			"+41[79]1234567", "(+41) 79 123 45 67", "+41·79·1234567", "+4179\u200d1234567", "+41 79\t123\n4567",
		}},
		{notification.SMS, "+390612345678", []string{"+39 06 1234 5678", "+39 (06) 12345678", "+39 (0)6 12345678"}},
		{notification.SMS, "+15551234567", []string{"+1 (555) 123-4567", "+1.555.123.4567"}},
		{notification.SMS, "+15005550006", []string{"+15005550006"}},

		{notification.Slack, "https://hooks.slack.com/services/T1/Ab",
			[]string{" https://hooks.slack.com/services/T1/Ab\n", "\u200bhttps://hooks.slack.com/services/T1/Ab"}},
		{notification.Webhook, "http://127.0.0.1:9090/hook?a=1", []string{"http://127.0.0.1:9090/hook?a=1"}},
	}
	for _, tt := range tests {
		for _, written := range append(tt.written, tt.want) {
			got, flaw := address.Normal(tt.channel, written)
			require.Empty(t, flaw, "%q", written)
			require.Equal(t, tt.want, got, "%q", written)
			require.Equal(t, address.Key(tt.channel, tt.want), address.Key(tt.channel, written), "%q", written)
		}
	}
}

// An address that cannot work has no form, and its flaw says why.
func TestFlaws(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		channel notification.Channel
		flaw    address.Flaw
		written []string
	}{
		{notification.Email, address.Empty, []string{"", " ", "\u200b\ufeff", "\u00a0\n"}},
		{notification.Email, address.NoAt,
			[]string{"pat", "pat.example.com", "@example.com", "pat@", "pat@@example.com", "pat@x@example.com", "n/a"}},
		{notification.Email, address.HasSpace, []string{
			"pat smith@example.com", "pat @example.com", "pat@ example.com", "pat@exam ple.com", "pat\u00a0smith@example.com", "pat@example.com x",
		}},
		{notification.Email, address.BadName, []string{
			"<pat@example.com>", "a,b@example.com", "a;b@example.com", "pat(work)@example.com", "mailto:pat@example.com", `"pat@example.com`,
			`a"b"@example.com`, `"Pat" <pat@example.com`, "pat\\x@example.com", "\xff@example.com", "pat\x00@example.com",
		}},
		{notification.Email, address.BadDomain, []string{
			"pat@example..com", "pat@.example.com", "pat@example.com.", "pat@-example.com", "pat@exam,ple.com", "pat@example.com>",
			"pat@[300.1.1.1]", "pat@[192.0.2.1", "pat@" + strings.Repeat("a", 64) + ".com", "pat@exa!mple.com", "pat@ü..example",
			"pat@\u0301a.example",
		}},
		{notification.Email, address.LongMail,
			[]string{strings.Repeat("a", 65) + "@example.com", "pat@" + strings.Repeat(strings.Repeat("a", 60)+".", 4) + "example"}},

		{notification.SMS, address.NoCountry, []string{"079 123 45 67", "41791234567", "tel:+41791234567", "unknown", "+0791234567"}},
		{notification.SMS, address.TrunkZero, []string{
			"+41 (0)79 123 45 67", "+41(0)791234567", "+41 ( 0 ) 79 123 45 67", "0041 (0)79 123 45 67", "+44 (0) 20 7946 0958", "+49 (0)30 123456",
			"+49 (030) 123456", "+41 079 123 45 67", "+999 (0)79 123 45 67",
		}},
		{notification.SMS, address.NotDigits, []string{
			"+41 79 123 45 67 ext. 5", "+41 79 123 45 67 / +41 79 123 45 68", "+41791234567x5", "+1-800-FLOWERS", "+41,79,123", "++41791234567",
		}},
		{notification.SMS, address.BadLength, []string{"+41791", "+", "+1234567890123456"}},

		{notification.Slack, address.NotURL,
			[]string{"hooks.slack.com/services/x", "https://hooks.slack.com", "https:///x", "ftp://example.com/x", "https://hooks.slack.com/a b"}},
	} {
		for _, written := range tt.written {
			got, flaw := address.Normal(tt.channel, written)
			require.Equal(t, tt.flaw, flaw, "%q", written)
			require.Empty(t, got)
			require.Equal(t, address.Key(tt.channel, written), address.Key(tt.channel, " "+written+"\u200b"), "%q: it has a key all the same",
				written)
		}
	}
}

// A key ignores the case of a mail address.
func TestKey(t *testing.T) {
	t.Parallel()

	require.Equal(t, "anna@xn--mller-kva.example", address.Key(notification.Email, " Anna@Müller.example"))
	require.NotEqual(t, address.Key(notification.SMS, "+41 79 123 45 67"), address.Key(notification.SMS, "+41 (0)79 123 45 67"),
		"the wrong number is not the right one's")
	require.Empty(t, address.Key(notification.Push, ""))
}

func TestIsNumber(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]bool{
		"+41791234567": true, "+1234567": true, "+123456": false, "41791234567": false, "+01234567": false, "+41 791234567": false,
		"+41791234567\n": false,
	} {
		require.Equal(t, want, address.IsNumber(text), text)
	}
}

// The example of each channel is an address.
func TestExamples(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		if channel.AddressExample() != "" {
			_, flaw := address.Normal(channel, channel.AddressExample())
			require.Empty(t, flaw, "%s", channel)
		}
	}
}
