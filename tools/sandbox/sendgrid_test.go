package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

type object = map[string]any

func mailCall(mail any) call {
	body, _ := json.Marshal(mail)
	return call{
		method: http.MethodPost, path: "/v3/mail/send", authorization: "Bearer key", contentType: "application/json", body: string(body),
	}
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
	requireAnswers(t, map[string]answered{
		"no personalizations":       refused("personalizations", mailWith(object{"personalizations": nil})),
		"too many personalizations": refused("personalizations", mailWith(object{"personalizations": repeat(1001)})),
		"too many recipients":       refused("personalizations", mailTo(object{"to": addresses(1001)})),
		"nobody":                    refused("personalizations.0.to", mailTo(object{"to": nil})),
		"no address":                refused("personalizations.0.to.0.email", mailTo(object{"to": box("")})),
		"no @":                      refused("personalizations.0.to.0.email", mailTo(object{"to": box("ada.example.com")})),
		"no domain":                 refused("personalizations.0.to.0.email", mailTo(object{"to": box("ada@")})),
		"no dot in the domain":      refused("personalizations.0.to.0.email", mailTo(object{"to": box("ada@example")})),
		"address with a name":       refused("personalizations.0.to.0.email", mailTo(object{"to": box("Ada <ada@example.com>")})),
		"address with a line break": refused("personalizations.0.to.0.email",
			mailTo(object{"to": box("ada@example.com\r\nBcc: eve@example.com")})),
		"semicolon in the name": refused("personalizations.0.to.0.name",
			mailTo(object{"to": []any{object{"email": "ada@example.com", "name": "A; B"}}})),
		"address twice": refused("personalizations.0", mailTo(object{"to": append(box("ada@example.com"), box("ADA@example.com")...)})),
		"custom_args too large": refused("personalizations.0.custom_args",
			mailTo(object{"custom_args": object{"x": strings.Repeat("a", 10_000)}})),
		"no from":               refused("from.email", mailWith(object{"from": nil})),
		"from without address":  refused("from.email", mailWith(object{"from": object{"name": "Herald"}})),
		"bad from":              refused("from.email", mailWith(object{"from": object{"email": "herald"}})),
		"from in Unicode":       refused("from", mailWith(object{"from": object{"email": "herald@example.com", "name": "Café"}})),
		"no subject":            refused("subject", mailWith(object{"subject": ""})),
		"CR in the subject":     refused("subject", mailWith(object{"subject": "a\rBcc: b"})),
		"LF in the subject":     refused("subject", mailWith(object{"subject": "a\nBcc: b"})),
		"no content":            refused("content", mailWith(object{"content": nil})),
		"content without type":  refused("content.0.type", mailWith(object{"content": []any{part("", "x")}})),
		"type with a parameter": refused("content.0.type", mailWith(object{"content": []any{part("text/plain; charset=utf-8", "x")}})),
		"empty content":         refused("content.0.value", mailWith(object{"content": []any{part("text/plain", "")}})),
		"HTML before text":      refused("content", mailWith(object{"content": []any{part("text/html", "x"), part("text/plain", "x")}})),
		"calendar before HTML":  refused("content", mailWith(object{"content": []any{part("text/calendar", "x"), part("text/html", "x")}})),
	})
}

// refused returns a mail with one mistake, in a field.
func refused(field string, mail any) answered {
	return answered{
		mailCall(mail), http.StatusBadRequest,
		`^\{"errors":\[\{"message":"[^{]+","field":"` + regexp.QuoteMeta(field) + `","help":"https://[^"]+"\}\]\}$`,
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
	const whole = `^\{"errors":\[\{"message":".+","field":null,"help":null\}\]\}$`
	requireAnswers(t, map[string]answered{
		"no authorization": {with(func(c *call) { c.authorization = "" }), http.StatusUnauthorized, whole},
		"no key":           {with(func(c *call) { c.authorization = "Bearer " }), http.StatusUnauthorized, whole},
		"not a bearer":     {with(func(c *call) { c.authorization = "Basic a2V5" }), http.StatusUnauthorized, whole},
		"no content type":  {with(func(c *call) { c.contentType = "" }), http.StatusUnsupportedMediaType, whole},
		"form": {with(func(c *call) { c.contentType = "application/x-www-form-urlencoded" }), http.StatusUnsupportedMediaType,
			whole},
		"no JSON":                {with(func(c *call) { c.body = "{" }), http.StatusBadRequest, whole},
		"empty":                  {with(func(c *call) { c.body = "" }), http.StatusBadRequest, whole},
		"custom_args of numbers": {mailCall(mailTo(object{"custom_args": object{"n": 1}})), http.StatusBadRequest, whole},
	})
}

// The sandbox accepts an e-mail that is exactly at the limits.
func TestMailAtTheLimits(t *testing.T) {
	t.Parallel()

	taken := func(mail object) answered { return answered{mailCall(mail), http.StatusAccepted, "^$"} }
	requireAnswers(t, map[string]answered{
		"1,000 recipients":       taken(mailTo(object{"to": addresses(1000)})),
		"1,000 personalizations": taken(mailWith(object{"personalizations": repeat(1000)})),
		"10,000 bytes of args":   taken(mailTo(object{"custom_args": object{"x": strings.Repeat("a", 9_999)}})),
		"text alone":             taken(mailWith(object{"content": []any{object{"type": "text/plain", "value": "x"}}})),
		"name in Unicode":        taken(mailTo(object{"to": []any{object{"email": "ada@example.com", "name": "Adà"}}})),
	})
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
