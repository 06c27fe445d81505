package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

func mailCall(mail any) call {
	body, _ := json.Marshal(mail)
	return call{method: http.MethodPost, path: "/v3/mail/send", authorization: "Bearer key", contentType: "application/json", body: string(body)}
}

func goodMail() object {
	return object{
		"personalizations": []any{object{
			"to":          []any{object{"email": "ada@example.com", "name": "Ada"}},
			"custom_args": object{"delivery_id": "evt-1-staff10-EMAIL"},
		}},
		"from":    object{"email": "herald@example.com", "name": "Herald"},
		"subject": "New reservation",
		"content": []any{
			object{"type": "text/plain", "value": "Table for 4"},
			object{"type": "text/html", "value": "<p>Table for 4</p>"},
		},
	}
}

// mailWith returns a valid e-mail with some fields replaced.
func mailWith(fields object) object {
	mail := goodMail()
	maps.Copy(mail, fields)
	return mail
}

// mailTo returns a valid e-mail with some fields of its personalization replaced.
func mailTo(fields object) object {
	mail := goodMail()
	maps.Copy(mail["personalizations"].([]any)[0].(object), fields)
	return mail
}

func TestMailRefused(t *testing.T) {
	t.Parallel()

	box := func(address string) []any { return []any{object{"email": address}} }
	part := func(kind, value string) object { return object{"type": kind, "value": value} }
	tests := []struct {
		name  string
		mail  any
		field string
	}{
		{name: "no personalizations", mail: mailWith(object{"personalizations": nil}), field: "personalizations"},
		{name: "too many personalizations", mail: mailWith(object{"personalizations": repeat(1001)}), field: "personalizations"},
		{name: "too many recipients", mail: mailTo(object{"to": addresses(1001)}), field: "personalizations"},
		{name: "nobody", mail: mailTo(object{"to": nil}), field: "personalizations.0.to"},
		{name: "no address", mail: mailTo(object{"to": box("")}), field: "personalizations.0.to.0.email"},
		{name: "no @", mail: mailTo(object{"to": box("ada.example.com")}), field: "personalizations.0.to.0.email"},
		{name: "no domain", mail: mailTo(object{"to": box("ada@")}), field: "personalizations.0.to.0.email"},
		{name: "no dot in the domain", mail: mailTo(object{"to": box("ada@example")}), field: "personalizations.0.to.0.email"},
		{name: "address with a name", mail: mailTo(object{"to": box("Ada <ada@example.com>")}), field: "personalizations.0.to.0.email"},
		{name: "address with a line break", mail: mailTo(object{"to": box("ada@example.com\r\nBcc: eve@example.com")}), field: "personalizations.0.to.0.email"},
		{name: "bad copy", mail: mailTo(object{"cc": box("ada")}), field: "personalizations.0.to.1.email"},
		{name: "semicolon in the name", mail: mailTo(object{"to": []any{object{"email": "ada@example.com", "name": "A; B"}}}), field: "personalizations.0.to.0.name"},
		{name: "address twice", mail: mailTo(object{"bcc": box("ADA@example.com")}), field: "personalizations.0"},
		{name: "custom_args too large", mail: mailTo(object{"custom_args": object{"x": strings.Repeat("a", 10_000)}}), field: "personalizations.0.custom_args"},
		{name: "no from", mail: mailWith(object{"from": nil}), field: "from.email"},
		{name: "from without address", mail: mailWith(object{"from": object{"name": "Herald"}}), field: "from.email"},
		{name: "bad from", mail: mailWith(object{"from": object{"email": "herald"}}), field: "from.email"},
		{name: "from in Unicode", mail: mailWith(object{"from": object{"email": "herald@example.com", "name": "Café"}}), field: "from"},
		{name: "no subject", mail: mailWith(object{"subject": ""}), field: "subject"},
		{name: "CR in the subject", mail: mailWith(object{"subject": "a\rBcc: b"}), field: "subject"},
		{name: "LF in the subject", mail: mailWith(object{"subject": "a\nBcc: b"}), field: "subject"},
		{name: "LF in a personal subject", mail: mailTo(object{"subject": "a\nBcc: b"}), field: "subject"},
		{name: "no content", mail: mailWith(object{"content": nil}), field: "content"},
		{name: "content without type", mail: mailWith(object{"content": []any{part("", "x")}}), field: "content.0.type"},
		{name: "type with a parameter", mail: mailWith(object{"content": []any{part("text/plain; charset=utf-8", "x")}}), field: "content.0.type"},
		{name: "empty content", mail: mailWith(object{"content": []any{part("text/plain", "")}}), field: "content.0.value"},
		{name: "HTML before text", mail: mailWith(object{"content": []any{part("text/html", "x"), part("text/plain", "x")}}), field: "content"},
		{name: "calendar before HTML", mail: mailWith(object{"content": []any{part("text/calendar", "x"), part("text/html", "x")}}), field: "content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, body := b.answer(t, mailCall(tt.mail))
			require.Equal(t, http.StatusBadRequest, status)

			var answer struct {
				Errors []struct{ Message, Field, Help string }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &answer))
			require.Len(t, answer.Errors, 1, body)
			require.Equal(t, tt.field, answer.Errors[0].Field)
			require.NotEmpty(t, answer.Errors[0].Message)
			require.Contains(t, answer.Errors[0].Help, "https://")
			require.False(t, b.only(t).Accepted)
		})
	}
}

func TestMailRequestRefused(t *testing.T) {
	t.Parallel()

	good := mailCall(goodMail())
	with := func(change func(*call)) call {
		changed := good
		change(&changed)
		return changed
	}
	tests := []struct {
		name string
		call call
		want int
	}{
		{name: "no authorization", call: with(func(c *call) { c.authorization = "" }), want: http.StatusUnauthorized},
		{name: "no key", call: with(func(c *call) { c.authorization = "Bearer " }), want: http.StatusUnauthorized},
		{name: "not a bearer", call: with(func(c *call) { c.authorization = "Basic a2V5" }), want: http.StatusUnauthorized},
		{name: "no content type", call: with(func(c *call) { c.contentType = "" }), want: http.StatusUnsupportedMediaType},
		{name: "form", call: with(func(c *call) { c.contentType = "application/x-www-form-urlencoded" }), want: http.StatusUnsupportedMediaType},
		{name: "no JSON", call: with(func(c *call) { c.body = "{" }), want: http.StatusBadRequest},
		{name: "empty", call: with(func(c *call) { c.body = "" }), want: http.StatusBadRequest},
		{name: "custom_args of numbers", call: mailCall(mailTo(object{"custom_args": object{"n": 1}})), want: http.StatusBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, body := b.answer(t, tt.call)
			require.Equal(t, tt.want, status)
			require.Regexp(t, `^\{"errors":\[\{"message":".+","field":null,"help":null\}\]\}$`, body)
			entry := b.only(t)
			require.Equal(t, tt.want, entry.Status)
			require.False(t, entry.Accepted)
		})
	}
}

// The sandbox accepts an e-mail that is exactly at the limits.
func TestMailAtTheLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]object{
		"1,000 recipients":       mailTo(object{"to": addresses(1000)}),
		"1,000 personalizations": mailWith(object{"personalizations": repeat(1000)}),
		"10,000 bytes of args":   mailTo(object{"custom_args": object{"x": strings.Repeat("a", 9_999)}}),
		"personal subject":       mailWith(object{"subject": "", "personalizations": []any{object{"to": addresses(1), "subject": "s"}}}),
		"text alone":             mailWith(object{"content": []any{object{"type": "text/plain", "value": "x"}}}),
		"name in Unicode":        mailTo(object{"to": []any{object{"email": "ada@example.com", "name": "Adà"}}}),
	}
	for name, mail := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, header, body := b.answer(t, mailCall(mail))
			require.Equal(t, http.StatusAccepted, status, body)
			require.Empty(t, body)
			require.NotEmpty(t, header.Get("X-Message-Id"))
			require.True(t, b.only(t).Accepted)
		})
	}
}

func addresses(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = object{"email": fmt.Sprintf("a%d@example.com", i)}
	}
	return list
}

func repeat(n int) []any {
	list := addresses(n)
	for i, address := range list {
		list[i] = object{"to": []any{address}}
	}
	return list
}
