package sendgrid_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/email/sendgrid"
	"herald/internal/notification"
	"herald/internal/receipts/receiptstest"
)

// receive returns the content of a signed batch.
func receive(t *testing.T, batch string) channel.Received {
	t.Helper()
	signer := receiptstest.New("")
	receivers := channeltest.NewReceivers(t, &sendgrid.Receipts{}, "", map[string]string{"SENDGRID_WEBHOOK_PUBLIC_KEY": signer.PublicKey()})
	received, err := receivers.Receive(t, "/webhooks/sendgrid", signer.SendGrid(time.Now(), batch), batch)
	require.NoError(t, err)
	return received
}

// TestEvents reads each kind of event that SendGrid documents, and some that it does not.
func TestEvents(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, fields string // fields are the event's fields in addition to the fields of all events
		want         notification.Receipt
	}{
		{name: "processed", fields: `"event":"processed"`, want: notification.Receipt{Word: "processed"}},
		{name: "delivered", fields: `"event":"delivered","response":"250 2.0.0 OK"`,
			want: notification.Receipt{Word: "delivered", Detail: "250 2.0.0 OK", Status: notification.Delivered}},
		{name: "deferred", fields: `"event":"deferred","response":"451 try again later","attempt":"5"`,
			want: notification.Receipt{Word: "deferred", Detail: "451 try again later"}},
		{name: "no such mailbox",
			fields: `"event":"bounce","type":"bounce","status":"5.1.1","reason":"550 5.1.1 <Ada.L@example.com>: no user Ada.L here","bounce_classification":"Invalid Address"`,
			want: notification.Receipt{
				Word: "bounce", Detail: "550 5.1.1 [address] no user [address] here", Status: notification.Failed,
				Suppress: notification.SuppressedBounce, Harm: notification.HarmBounce,
			}},
		{name: "blocked by the mail server", fields: `"event":"bounce","type":"blocked","status":"5.7.1","reason":"blocked by policy"`,
			want: notification.Receipt{Word: "bounce", Detail: "blocked by policy", Status: notification.Failed}},
		{name: "mailbox full", fields: `"event":"bounce","type":"bounce","status":"4.2.2","reason":"over quota"`,
			want: notification.Receipt{Word: "bounce", Detail: "over quota", Status: notification.Failed}},
		{name: "reputation, as a bounce",
			fields: `"event":"bounce","type":"bounce","status":"5.7.1","reason":"550 5.7.1 on a block list","bounce_classification":"Reputation"`,
			want:   notification.Receipt{Word: "bounce", Detail: "550 5.7.1 on a block list", Status: notification.Failed}},
		{name: "policy, as a bounce", fields: `"event":"bounce","type":"bounce","status":"5.7.26","reason":"unauthenticated"`,
			want: notification.Receipt{Word: "bounce", Detail: "unauthenticated", Status: notification.Failed}},
		{name: "mailbox full, for good",
			fields: `"event":"bounce","type":"bounce","status":"5.2.2","reason":"552 5.2.2 over quota","bounce_classification":"Mailbox Unavailable"`,
			want:   notification.Receipt{Word: "bounce", Detail: "552 5.2.2 over quota", Status: notification.Failed}},
		{name: "sender's address refused", fields: `"event":"bounce","type":"bounce","status":"5.1.8","reason":"bad sender"`,
			want: notification.Receipt{Word: "bounce", Detail: "bad sender", Status: notification.Failed}},
		{name: "a bounce without a status", fields: `"event":"bounce","type":"bounce","status":"","reason":"who knows"`,
			want: notification.Receipt{Word: "bounce", Detail: "who knows", Status: notification.Failed}},
		{name: "the status in the reason", fields: `"event":"bounce","type":"bounce","status":"550","reason":"550-5.1.1 no such user"`,
			want: notification.Receipt{
				Word: "bounce", Detail: "550-5.1.1 no such user", Status: notification.Failed,
				Suppress: notification.SuppressedBounce, Harm: notification.HarmBounce,
			}},
		{name: "another status in the reason", fields: `"event":"bounce","type":"bounce","reason":"550 5.7.1 see 5.1.1"`,
			want: notification.Receipt{Word: "bounce", Detail: "550 5.7.1 see 5.1.1", Status: notification.Failed}},
		{name: "an invalid address by class",
			fields: `"event":"bounce","type":"bounce","status":"5.0.0","reason":"no","bounce_classification":"Invalid Address"`,
			want: notification.Receipt{
				Word: "bounce", Detail: "no", Status: notification.Failed,
				Suppress: notification.SuppressedBounce, Harm: notification.HarmBounce,
			}},
		{name: "no such domain", fields: `"event":"bounce","type":"bounce","status":"5.1.2","reason":"no MX"`,
			want: notification.Receipt{
				Word: "bounce", Detail: "no MX", Status: notification.Failed,
				Suppress: notification.SuppressedBounce, Harm: notification.HarmBounce,
			}},
		{name: "a bounce without a type", fields: `"event":"bounce","reason":"who knows"`,
			want: notification.Receipt{Word: "bounce", Detail: "who knows", Status: notification.Failed}},
		{name: "dropped after an earlier bounce", fields: `"event":"dropped","reason":"Bounced Address"`,
			want: notification.Receipt{
				Word: "dropped", Detail: "Bounced Address", Status: notification.Failed, Suppress: notification.SuppressedBounce,
			}},
		{name: "dropped after an earlier spam report", fields: `"event":"dropped","reason":"Spam Reporting Address"`,
			want: notification.Receipt{
				Word: "dropped", Detail: "Spam Reporting Address", Status: notification.Failed, Suppress: notification.SuppressedComplaint,
			}},
		{name: "dropped because the address is invalid", fields: `"event":"dropped","reason":"Invalid"`,
			want: notification.Receipt{Word: "dropped", Detail: "Invalid", Status: notification.Failed, Suppress: notification.SuppressedInvalid}},
		{name: "dropped because the person unsubscribed", fields: `"event":"dropped","reason":"Unsubscribed Address"`,
			want: notification.Receipt{Word: "dropped", Detail: "Unsubscribed Address", Status: notification.Failed, Unsubscribes: true}},
		{name: "dropped because of our request", fields: `"event":"dropped","reason":"Invalid SMTPAPI header"`,
			want: notification.Receipt{Word: "dropped", Detail: "Invalid SMTPAPI header", Status: notification.Failed}},
		{name: "dropped as spam", fields: `"event":"dropped","reason":"Spam Content"`,
			want: notification.Receipt{Word: "dropped", Detail: "Spam Content", Status: notification.Failed}},
		{name: "reported as spam", fields: `"event":"spamreport"`,
			want: notification.Receipt{Word: "spamreport", Suppress: notification.SuppressedComplaint, Harm: notification.HarmComplaint}},
		{name: "unsubscribed", fields: `"event":"unsubscribe"`, want: notification.Receipt{Word: "unsubscribe", Unsubscribes: true}},
		{name: "unsubscribed from a group", fields: `"event":"group_unsubscribe","asm_group_id":10`,
			want: notification.Receipt{Word: "group_unsubscribe", Unsubscribes: true}},
		{name: "subscribed again", fields: `"event":"group_resubscribe","asm_group_id":10`,
			want: notification.Receipt{Word: "group_resubscribe", Resubscribes: true}},
		{name: "opened", fields: `"event":"open","useragent":"Mozilla","ip":"192.0.2.1","category":["a","b"]`,
			want: notification.Receipt{Word: "open"}},
		{name: "link clicked", fields: `"event":"click","url":"https://example.com/?user=ada@example.com"`,
			want: notification.Receipt{Word: "click"}},
		{name: "an unknown event", fields: `"event":"teleported"`, want: notification.Receipt{Word: "teleported"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			body := `[{"email":"ada.l@example.com","timestamp":1600112492,"sg_event_id":"ev-1","sg_message_id":"abc-_.recvd-5f.0","delivery_id":"evt-1-staff10-EMAIL",` +
				tt.fields + `}]`
			tt.want.ID, tt.want.MessageID, tt.want.DeliveryID = "ev-1", "abc-_", "evt-1-staff10-EMAIL"
			tt.want.At, tt.want.Address = time.Unix(1600112492, 0).UTC(), "ada.l@example.com"
			require.Equal(t, channel.Received{Receipts: []notification.Receipt{tt.want}}, receive(t, body))
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
		{name: "empty body", body: ``, malformed: 1},
		{name: "an event without a batch", body: event("1", ""), malformed: 1},
		{name: "half a batch", body: `[` + event("1", ""), malformed: 1},
		{name: "two batches", body: `[][]`, malformed: 1},
		{name: "an empty batch", body: "[]\r\n"},
		{name: "elements that are no events", body: `[null,1,"x",[]]`, malformed: 3, foreign: 1},
		{name: "one event twice in a request", body: `[` + event("1", "") + `,` + event("1", "") + `]`, want: []string{"1", "1"}},
		{name: "mails of another program", body: `[{"event":"open","timestamp":1600112492,"sg_event_id":"1"},` + event("2", "") + `]`,
			want: []string{"2"}, foreign: 1},
		{name: "without an id", body: `[` + event("", "") + `,` + event("2", "") + `]`, want: []string{"2"}, malformed: 1},
		{name: "without an event name", body: `[` + event("1", `,"event":""`) + `]`, malformed: 1},
		{name: "without a time", body: `[` + event("1", `,"timestamp":0`) + `]`, malformed: 1},
		{name: "an impossible time", body: `[` + event("1", `,"timestamp":1e18`) + `]`, malformed: 1},
		{name: "a time in words", body: `[` + event("1", `,"timestamp":"now"`) + `,` + event("2", "") + `]`, want: []string{"2"}, malformed: 1},
		{name: "a time with a fraction", body: `[` + event("1", `,"timestamp":1600112492.5`) + `]`, want: []string{"1"}},
		{name: "a long event name", body: `[` + event("1", `,"event":"`+long+`"`) + `]`, malformed: 1},
		{name: "a long id", body: `[` + event(long, "") + `]`, malformed: 1},
		{name: "a long delivery id", body: `[` + event("1", `,"delivery_id":"`+long+`"`) + `]`, malformed: 1},
		{name: "a long message id", body: `[` + event("1", `,"sg_message_id":"`+long+`"`) + `]`, malformed: 1},
		{name: "a NUL, which Postgres cannot store",
			body: `[` + event("1", `,"sg_message_id":"a\u0000b"`) + `,` + event("2", `,"reason":"a\u0000b"`) + `]`, want: []string{"2"},
			malformed: 1},
		{name: "without a message id", body: `[` + event("1", `,"sg_message_id":""`) + `]`, want: []string{"1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got := receive(t, tt.body)
			var ids []string
			for _, r := range got.Receipts {
				ids = append(ids, r.ID)
			}
			require.Equal(t, tt.want, ids)
			require.Equal(t, tt.malformed, got.Malformed)
			require.Equal(t, tt.foreign, got.Foreign)
		})
	}
}

// TestSignatures compares Herald's signature check with SendGrid's library.
func TestSignatures(t *testing.T) {
	t.Parallel()

	vectors := channeltest.ReadVectors[struct {
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

			receivers := channeltest.NewReceivers(t, &sendgrid.Receipts{}, "", map[string]string{"SENDGRID_WEBHOOK_PUBLIC_KEY": v.PublicKey})
			valid := func(signature string) bool {
				header := http.Header{"X-Twilio-Email-Event-Webhook-Timestamp": {v.Timestamp}, "X-Twilio-Email-Event-Webhook-Signature": {signature}}
				_, err := receivers[0].Read(&http.Request{Header: header}, []byte(v.Body))
				return err == nil
			}
			require.Equal(t, v.Valid, valid(v.Signature))
			for _, signature := range []string{"", v.Signature + "x", v.Signature[4:], "AAAA"} {
				require.False(t, valid(signature), signature)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"[]", "", "[{}]", "null", `[[[[`,
		`[{"event":"bounce","type":"bounce","reason":"<a@b.c> a\u0000","email":"a@b.c","sg_event_id":"1","sg_message_id":"a.b","timestamp":1600112492,"delivery_id":"d"}]`,
		`[{"event":"open","EVENT":"click","timestamp":1.6e9,"sg_event_id":"\ud800","delivery_id":"\uffff"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		receive(t, string(body))
	})
}
