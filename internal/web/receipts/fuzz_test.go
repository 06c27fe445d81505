package receipts_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/internal/notification"
	"herald/internal/web/receipts"
)

// requireStorable requires that the table can store a receipt, and that its detail has no address.
func requireStorable(t *testing.T, r notification.Receipt) {
	t.Helper()
	for name, text := range map[string]string{"id": r.ID, "delivery": r.DeliveryID, "message": r.MessageID, "word": r.Word, "detail": r.Detail} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || len(text) > 600 {
			t.Errorf("%s cannot be stored: %q", name, text)
		}
	}
	if r.ID == "" || r.DeliveryID == "" || r.Word == "" || len(r.Word) > 40 {
		t.Errorf("it cannot be stored: %+v", r)
	}
	if strings.Contains(r.Detail, "@") {
		t.Errorf("the detail may have an address: %q", r.Detail)
	}
	if year := r.At.Year(); year < 2000 || year > 3000 {
		t.Errorf("it cannot have happened in %d", year)
	}
	if r.Status != "" && r.Status != notification.Delivered && r.Status != notification.Failed {
		t.Errorf("a receipt makes nothing %s", r.Status)
	}
}

func FuzzParseEvents(f *testing.F) {
	for _, seed := range []string{
		"[]", "", "[{}]", "null", `[[[[`, `[{"event":"bounce","type":"bounce","reason":"<a@b.c> a\u0000","email":"a@b.c","sg_event_id":"1","sg_message_id":"a.b","timestamp":1600112492,"delivery_id":"d"}]`,
		`[{"event":"open","EVENT":"click","timestamp":1.6e9,"sg_event_id":"\ud800","delivery_id":"\uffff"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, malformed, foreign := receipts.ParseEvents(body)
		if malformed < 0 || foreign < 0 || len(got)+malformed+foreign > len(body)+1 {
			t.Errorf("%d, %d and %d events of %d bytes", len(got), malformed, foreign, len(body))
		}
		for _, r := range got {
			requireStorable(t, r)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	for _, seed := range []string{"", "MessageSid=SM1&MessageStatus=failed&ErrorCode=30005", "MessageSid=%00&MessageStatus=%ff", "MessageSid=SM1&MessageStatus=sent&MessageStatus=x", "a;b"} {
		f.Add("d", seed)
	}
	f.Fuzz(func(t *testing.T, delivery, body string) {
		fields, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		if r, err := receipts.ParseStatus(delivery, fields, time.Now()); err == nil {
			requireStorable(t, r)
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{"", "MessageSid=SM1&From=%2B393401234567&Body=stop", "MessageSid=%00&From=%2B1&OptOutType=START", "From=whatsapp%3A%2B39"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		fields, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		answer, ok := receipts.ParseAnswer(fields)
		if ok && receipts.Answerable(answer) {
			requireStorable(t, notification.Receipt{ID: answer.MessageID, DeliveryID: answer.Number, Word: "stop", At: time.Now()})
		}
	})
}

// FuzzWithoutAddress varies both the reason and the address of an event.
func FuzzWithoutAddress(f *testing.F) {
	f.Add("550 <ada@example.com>: no user ada", "ada@example.com")
	f.Add("(?i)[", "[[[@")
	f.Add("\xff\x00", "\xff\xff\xff@")
	f.Fuzz(func(t *testing.T, reason, email string) {
		got := receipts.WithoutAddress(reason, email)
		if len(got) > 500 || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || strings.Contains(got, "@") {
			t.Errorf("%q", got)
		}
	})
}
