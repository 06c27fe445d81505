package receipts_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/web/receipts"
	"herald/internal/web/receipts/receiptstest"
)

// TestEvents reads each kind of event that SendGrid documents, and some that it does not.
func TestEvents(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, fields string // fields are the event's fields in addition to the fields of all events
		want         notification.Receipt
	}{
		{name: "it is on its way", fields: `"event":"processed"`, want: notification.Receipt{Word: "processed"}},
		{name: "it has arrived", fields: `"event":"delivered","response":"250 2.0.0 OK"`,
			want: notification.Receipt{Word: "delivered", Detail: "250 2.0.0 OK", Status: notification.Delivered}},
		{name: "it is tried again", fields: `"event":"deferred","response":"451 try again later","attempt":"5"`,
			want: notification.Receipt{Word: "deferred", Detail: "451 try again later"}},
		{name: "there is no such mailbox", fields: `"event":"bounce","type":"bounce","status":"5.1.1","reason":"550 5.1.1 <Ada.L@example.com>: no user Ada.L here","bounce_classification":"Invalid Address"`,
			want: notification.Receipt{Word: "bounce", Detail: "550 5.1.1 [address] no user [address] here", Status: notification.Failed, Suppress: notification.SuppressedBounce}},
		{name: "a server did not want it", fields: `"event":"bounce","type":"blocked","status":"5.7.1","reason":"blocked by policy"`,
			want: notification.Receipt{Word: "bounce", Detail: "blocked by policy", Status: notification.Failed}},
		{name: "a mailbox was full for three days", fields: `"event":"bounce","type":"bounce","status":"4.2.2","reason":"over quota"`,
			want: notification.Receipt{Word: "bounce", Detail: "over quota", Status: notification.Failed}},
		{name: "a bounce of no type", fields: `"event":"bounce","reason":"who knows"`,
			want: notification.Receipt{Word: "bounce", Detail: "who knows", Status: notification.Failed}},
		{name: "dropped, since one bounced before", fields: `"event":"dropped","reason":"Bounced Address"`,
			want: notification.Receipt{Word: "dropped", Detail: "Bounced Address", Status: notification.Failed, Suppress: notification.SuppressedBounce}},
		{name: "dropped, since one was reported before", fields: `"event":"dropped","reason":"Spam Reporting Address"`,
			want: notification.Receipt{Word: "dropped", Detail: "Spam Reporting Address", Status: notification.Failed, Suppress: notification.SuppressedComplaint}},
		{name: "dropped, since the address is none", fields: `"event":"dropped","reason":"Invalid"`,
			want: notification.Receipt{Word: "dropped", Detail: "Invalid", Status: notification.Failed, Suppress: notification.SuppressedInvalid}},
		{name: "dropped, since they unsubscribed", fields: `"event":"dropped","reason":"Unsubscribed Address"`,
			want: notification.Receipt{Word: "dropped", Detail: "Unsubscribed Address", Status: notification.Failed, Unsubscribes: true}},
		{name: "dropped for what lies with us", fields: `"event":"dropped","reason":"Invalid SMTPAPI header"`,
			want: notification.Receipt{Word: "dropped", Detail: "Invalid SMTPAPI header", Status: notification.Failed}},
		{name: "dropped for spam", fields: `"event":"dropped","reason":"Spam Content"`,
			want: notification.Receipt{Word: "dropped", Detail: "Spam Content", Status: notification.Failed}},
		{name: "it was reported as spam", fields: `"event":"spamreport"`,
			want: notification.Receipt{Word: "spamreport", Suppress: notification.SuppressedComplaint}},
		{name: "they unsubscribed", fields: `"event":"unsubscribe"`, want: notification.Receipt{Word: "unsubscribe", Unsubscribes: true}},
		{name: "they unsubscribed from a group", fields: `"event":"group_unsubscribe","asm_group_id":10`,
			want: notification.Receipt{Word: "group_unsubscribe", Unsubscribes: true}},
		{name: "they subscribed again", fields: `"event":"group_resubscribe","asm_group_id":10`, want: notification.Receipt{Word: "group_resubscribe"}},
		{name: "it was opened", fields: `"event":"open","useragent":"Mozilla","ip":"192.0.2.1","category":["a","b"]`, want: notification.Receipt{Word: "open"}},
		{name: "a link was followed", fields: `"event":"click","url":"https://example.com/?user=ada@example.com"`, want: notification.Receipt{Word: "click"}},
		{name: "what comes next year", fields: `"event":"teleported"`, want: notification.Receipt{Word: "teleported"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			body := `[{"email":"ada.l@example.com","timestamp":1600112492,"sg_event_id":"ev-1","sg_message_id":"abc-_.recvd-5f.0","delivery_id":"evt-1-staff10-EMAIL",` + tt.fields + `}]`
			got, malformed, foreign := receipts.ParseEvents([]byte(body))
			require.Zero(t, malformed)
			require.Zero(t, foreign)
			tt.want.Provider, tt.want.ID, tt.want.MessageID, tt.want.DeliveryID = notification.SendGrid, "ev-1", "abc-_", "evt-1-staff10-EMAIL"
			tt.want.At, tt.want.Address = time.Unix(1600112492, 0).UTC(), "ada.l@example.com"
			require.Equal(t, []notification.Receipt{tt.want}, got)
		})
	}
}

// TestBatches reads batches with malformed and foreign events. The other events count.
func TestBatches(t *testing.T) {
	t.Parallel()

	event := func(id, more string) string {
		return fmt.Sprintf(`{"event":"open","timestamp":1600112492,"sg_event_id":%q,"delivery_id":"d"%s}`, id, more)
	}
	long := strings.Repeat("x", 10_000)
	tests := []struct {
		name, body         string
		want               []string // event ids
		malformed, foreign int
	}{
		{name: "nothing", body: ``, malformed: 1},
		{name: "no batch", body: event("1", ""), malformed: 1},
		{name: "half a batch", body: `[` + event("1", ""), malformed: 1},
		{name: "two batches", body: `[][]`, malformed: 1},
		{name: "an empty batch", body: "[]\r\n"},
		{name: "no events", body: `[null,1,"x",[]]`, malformed: 3, foreign: 1},
		{name: "one that is twice in it", body: `[` + event("1", "") + `,` + event("1", "") + `]`, want: []string{"1", "1"}},
		{name: "mails of another program", body: `[{"event":"open","timestamp":1600112492,"sg_event_id":"1"},` + event("2", "") + `]`, want: []string{"2"}, foreign: 1},
		{name: "without an id", body: `[` + event("", "") + `,` + event("2", "") + `]`, want: []string{"2"}, malformed: 1},
		{name: "without a word", body: `[` + event("1", `,"event":""`) + `]`, malformed: 1},
		{name: "without a time", body: `[` + event("1", `,"timestamp":0`) + `]`, malformed: 1},
		{name: "a time that no clock has", body: `[` + event("1", `,"timestamp":1e18`) + `]`, malformed: 1},
		{name: "a time in words", body: `[` + event("1", `,"timestamp":"now"`) + `,` + event("2", "") + `]`, want: []string{"2"}, malformed: 1},
		{name: "a time with a fraction", body: `[` + event("1", `,"timestamp":1600112492.5`) + `]`, want: []string{"1"}},
		{name: "a long word", body: `[` + event("1", `,"event":"`+long+`"`) + `]`, malformed: 1},
		{name: "a long id", body: `[` + event(long, "") + `]`, malformed: 1},
		{name: "a long delivery", body: `[` + event("1", `,"delivery_id":"`+long+`"`) + `]`, malformed: 1},
		{name: "a long message", body: `[` + event("1", `,"sg_message_id":"`+long+`"`) + `]`, malformed: 1},
		{name: "what Postgres cannot hold", body: `[` + event("1", `,"sg_message_id":"a\u0000b"`) + `,` + event("2", `,"reason":"a\u0000b"`) + `]`, want: []string{"2"}, malformed: 1},
		{name: "no message named", body: `[` + event("1", `,"sg_message_id":""`) + `]`, want: []string{"1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got, malformed, foreign := receipts.ParseEvents([]byte(tt.body))
			var ids []string
			for _, r := range got {
				ids = append(ids, r.ID)
			}
			require.Equal(t, tt.want, ids)
			require.Equal(t, tt.malformed, malformed)
			require.Equal(t, tt.foreign, foreign)
		})
	}
}

func TestWithoutAddress(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, reason, email, want string
	}{
		{name: "nothing"},
		{name: "no address", reason: "mailbox full", email: "ada@example.com", want: "mailbox full"},
		{name: "in brackets", reason: "550 <ada@example.com>: unknown", email: "ada@example.com", want: "550 [address] unknown"},
		{name: "of another", reason: "relayed by postmaster@example.org.", email: "ada@example.com", want: "relayed by [address]"},
		{name: "in another case", reason: "no mailbox ADA@EXAMPLE.COM", email: "Ada@Example.com", want: "no mailbox [address]"},
		{name: "its name alone", reason: "user 'ada.l' is unknown", email: "Ada.L@example.com", want: "user '[address]' is unknown"},
		{name: "its name within a word", reason: "adamant refusal", email: "ada@example.com", want: "adamant refusal"},
		{name: "a quoted name", reason: `no user "ada l"@example.com`, email: `"ada l"@example.com`, want: "no user [address]"},
		{name: "in a link", reason: "see https://example.com/?m=ada%40example.com", email: "ada@example.com", want: "see [address]"},
		{name: "several lines", reason: "550-5.1.1\r\n550 gone\x00\x1b[31m", email: "ada@example.com", want: "550-5.1.1 550 gone [31m"},
		{name: "broken text", reason: "a\xffb", want: "a\ufffdb"},
		{name: "long", reason: strings.Repeat("é", 1000), want: strings.Repeat("é", 250)},
		{name: "a name that is too long", reason: "unknown", email: strings.Repeat("a", 1<<20) + "@example.com", want: "[address]"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, receipts.WithoutAddress(tt.reason, tt.email), tt.name)
	}
}

// While operators replace a key or a token, signatures with the old and the new one are valid.
func TestPreviousKeys(t *testing.T) {
	t.Parallel()

	const sendgrid, inbound = "/webhooks/sendgrid", "/webhooks/twilio/inbound"
	previous, stranger := receiptstest.New("https://herald.example.com"), receiptstest.New("https://herald.example.com")
	r := newRoom(t, func(cfg *receipts.Config) {
		cfg.PreviousSendGridKey, cfg.PreviousTwilioToken = &previous.SendGridKey.PublicKey, previous.TwilioToken
	})
	fields := url.Values{"MessageSid": {"SM1"}, "From": {"+393401234567"}, "Body": {"hello"}}
	for signer, want := range map[*receiptstest.Signer]bool{&r.signer: true, &previous: true, &stranger: false} {
		answer, _ := r.post(sendgrid, signer.SendGrid(time.Now(), "[]"), "[]")
		require.Equal(t, want, answer.StatusCode == http.StatusNoContent)
		answer, _ = r.post(inbound, signer.Twilio(inbound, fields), fields.Encode())
		require.Equal(t, want, answer.StatusCode == http.StatusOK)
	}
}

// TestSendGridVectors compares Herald's signature check with SendGrid's library.
func TestSendGridVectors(t *testing.T) {
	t.Parallel()

	vectors := readVectors[struct {
		Name      string
		PublicKey string `json:"public_key"`
		Timestamp string
		Body      string
		Signature string
		Valid     bool
	}](t, "testdata/sendgrid.json")
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, v.Valid, receipts.SignedBySendGrid(publicKey(t, v.PublicKey), v.Signature, v.Timestamp, []byte(v.Body)))
			for _, signature := range []string{"", v.Signature + "x", v.Signature[4:], "AAAA"} {
				require.False(t, receipts.SignedBySendGrid(publicKey(t, v.PublicKey), signature, v.Timestamp, []byte(v.Body)), signature)
			}
		})
	}
}

// TestTwilioVectors compares Herald's signature check with Twilio's library.
func TestTwilioVectors(t *testing.T) {
	t.Parallel()

	vectors := readVectors[struct {
		Name, Token, URL, Body, Signature string
		Valid                             bool
	}](t, "testdata/twilio.json")
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()

			fields, err := url.ParseQuery(v.Body)
			require.NoError(t, err)
			require.Equal(t, v.Valid, receipts.SignedByTwilio(v.Token, v.Signature, v.URL, fields))
			for _, signature := range []string{"", v.Signature + "=", v.Signature[1:]} {
				require.False(t, receipts.SignedByTwilio(v.Token, signature, v.URL, fields), signature)
			}
		})
	}
}

// readVectors reads a file of test vectors, with valid and invalid signatures.
func readVectors[V any](t *testing.T, file string) []V {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var vectors []V
	require.NoError(t, json.Unmarshal(content, &vectors))
	require.Greater(t, len(vectors), 10)
	require.Contains(t, string(content), `"valid": true`)
	require.Contains(t, string(content), `"valid": false`)
	return vectors
}

// publicKey reads a key as SendGrid shows it.
func publicKey(t testing.TB, text string) *ecdsa.PublicKey {
	t.Helper()
	der, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	key, err := x509.ParsePKIXPublicKey(der)
	require.NoError(t, err)
	return key.(*ecdsa.PublicKey)
}
