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
	return call{http.MethodPost, "/v3/mail/send", "Bearer key", "application/json", string(body)}
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

// mailWith is a good mail but for some of its fields.
func mailWith(fields object) object {
	mail := goodMail()
	maps.Copy(mail, fields)
	return mail
}

// mailTo is a good mail but for some fields of its personalization.
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
		{"no personalizations", mailWith(object{"personalizations": nil}), "personalizations"},
		{"too many personalizations", mailWith(object{"personalizations": repeat(1001)}), "personalizations"},
		{"too many recipients", mailTo(object{"to": addresses(1001)}), "personalizations"},
		{"nobody", mailTo(object{"to": nil}), "personalizations.0.to"},
		{"no address", mailTo(object{"to": box("")}), "personalizations.0.to.0.email"},
		{"no @", mailTo(object{"to": box("ada.example.com")}), "personalizations.0.to.0.email"},
		{"no domain", mailTo(object{"to": box("ada@")}), "personalizations.0.to.0.email"},
		{"no dot in the domain", mailTo(object{"to": box("ada@example")}), "personalizations.0.to.0.email"},
		{"address with a name", mailTo(object{"to": box("Ada <ada@example.com>")}), "personalizations.0.to.0.email"},
		{"address with a line break", mailTo(object{"to": box("ada@example.com\r\nBcc: eve@example.com")}), "personalizations.0.to.0.email"},
		{"bad copy", mailTo(object{"cc": box("ada")}), "personalizations.0.to.1.email"},
		{"semicolon in the name", mailTo(object{"to": []any{object{"email": "ada@example.com", "name": "A; B"}}}), "personalizations.0.to.0.name"},
		{"address twice", mailTo(object{"bcc": box("ADA@example.com")}), "personalizations.0"},
		{"custom_args too large", mailTo(object{"custom_args": object{"x": strings.Repeat("a", 10_000)}}), "personalizations.0.custom_args"},
		{"no from", mailWith(object{"from": nil}), "from.email"},
		{"from without address", mailWith(object{"from": object{"name": "Herald"}}), "from.email"},
		{"bad from", mailWith(object{"from": object{"email": "herald"}}), "from.email"},
		{"from in Unicode", mailWith(object{"from": object{"email": "herald@example.com", "name": "Café"}}), "from"},
		{"no subject", mailWith(object{"subject": ""}), "subject"},
		{"CR in the subject", mailWith(object{"subject": "a\rBcc: b"}), "subject"},
		{"LF in the subject", mailWith(object{"subject": "a\nBcc: b"}), "subject"},
		{"LF in a personal subject", mailTo(object{"subject": "a\nBcc: b"}), "subject"},
		{"no content", mailWith(object{"content": nil}), "content"},
		{"content without type", mailWith(object{"content": []any{part("", "x")}}), "content.0.type"},
		{"type with a parameter", mailWith(object{"content": []any{part("text/plain; charset=utf-8", "x")}}), "content.0.type"},
		{"empty content", mailWith(object{"content": []any{part("text/plain", "")}}), "content.0.value"},
		{"HTML before text", mailWith(object{"content": []any{part("text/html", "x"), part("text/plain", "x")}}), "content"},
		{"calendar before HTML", mailWith(object{"content": []any{part("text/calendar", "x"), part("text/html", "x")}}), "content"},
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
		{"no authorization", with(func(c *call) { c.authorization = "" }), http.StatusUnauthorized},
		{"no key", with(func(c *call) { c.authorization = "Bearer " }), http.StatusUnauthorized},
		{"not a bearer", with(func(c *call) { c.authorization = "Basic a2V5" }), http.StatusUnauthorized},
		{"no content type", with(func(c *call) { c.contentType = "" }), http.StatusUnsupportedMediaType},
		{"form", with(func(c *call) { c.contentType = "application/x-www-form-urlencoded" }), http.StatusUnsupportedMediaType},
		{"no JSON", with(func(c *call) { c.body = "{" }), http.StatusBadRequest},
		{"empty", with(func(c *call) { c.body = "" }), http.StatusBadRequest},
		{"custom_args of numbers", mailCall(mailTo(object{"custom_args": object{"n": 1}})), http.StatusBadRequest},
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

// TestMailAtTheLimits takes what is just allowed.
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
