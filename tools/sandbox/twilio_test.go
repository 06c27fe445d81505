package sandbox_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"herald/tools/sandbox"
)

const smsPath = "/2010-04-01/Accounts/AC123/Messages.json"

func smsCall(form url.Values) call {
	return call{
		method: http.MethodPost, path: smsPath, authorization: basic("AC123", "token"), contentType: "application/x-www-form-urlencoded",
		body: form.Encode(),
	}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func goodSMS() url.Values {
	return url.Values{
		"To": {"+15551234567"}, "From": {"+15005550006"}, "Body": {"Table for 4"},
		"StatusCallback": {"https://herald.example.com/webhooks/twilio?delivery_id=evt-1-staff10-SMS"},
	}
}

// smsWith returns a valid message with one field replaced, or removed if value is "".
func smsWith(field, value string) url.Values {
	form := goodSMS()
	if form.Set(field, value); value == "" {
		form.Del(field)
	}
	return form
}

func TestSMSRefused(t *testing.T) {
	t.Parallel()
	requireAnswers(t, map[string]answered{
		"no To":                      rejected(smsCall(smsWith("To", "")), 400, 21604),
		"To without +":               rejected(smsCall(smsWith("To", "15551234567")), 400, 21211),
		"To with spaces":             rejected(smsCall(smsWith("To", "+1 555 123 4567")), 400, 21211),
		"To too short":               rejected(smsCall(smsWith("To", "+1555123")), 400, 21211),
		"To too long":                rejected(smsCall(smsWith("To", "+155512345678")), 400, 21211),
		"To of no country":           rejected(smsCall(smsWith("To", "+99912345678")), 400, 21211),
		"To is a name":               rejected(smsCall(smsWith("To", "Ada")), 400, 21211),
		"magic: invalid":             rejected(smsCall(smsWith("To", "+15005550001")), 400, 21211),
		"magic: no route":            rejected(smsCall(smsWith("To", "+15005550002")), 400, 21612),
		"magic: no permission":       rejected(smsCall(smsWith("To", "+15005550003")), 400, 21408),
		"magic: opted out":           rejected(smsCall(smsWith("To", "+15005550004")), 400, 21610),
		"magic: not mobile":          rejected(smsCall(smsWith("To", "+15005550009")), 400, 21614),
		"no From":                    rejected(smsCall(smsWith("From", "")), 400, 21603),
		"bad From":                   rejected(smsCall(smsWith("From", "12")), 400, 21212),
		"name too long":              rejected(smsCall(smsWith("From", "HeraldHerald")), 400, 21212),
		"magic: invalid From":        rejected(smsCall(smsWith("From", "+15005550001")), 400, 21212),
		"magic: not ours":            rejected(smsCall(smsWith("From", "+15005550007")), 400, 21606),
		"magic: full queue":          rejected(smsCall(smsWith("From", "+15005550008")), 429, 21611),
		"no body":                    rejected(smsCall(smsWith("Body", "")), 400, 21602),
		"body too long":              rejected(smsCall(smsWith("Body", strings.Repeat("à", 1601))), 400, 21617),
		"relative callback":          rejected(smsCall(smsWith("StatusCallback", "/webhooks/twilio")), 400, 21609),
		"callback of another scheme": rejected(smsCall(smsWith("StatusCallback", "ftp://example.com/")), 400, 21609),
		"broken callback":            rejected(smsCall(smsWith("StatusCallback", "http://%zz")), 400, 21609),
		"callback to itself": rejected(smsCall(smsWith("StatusCallback", "http://localhost:8080/webhooks/twilio")), 400,
			21609),
		"callback to a loopback address":         rejected(smsCall(smsWith("StatusCallback", "https://127.0.0.1/webhooks/twilio")), 400, 21609),
		"callback to a loopback address of IPv6": rejected(smsCall(smsWith("StatusCallback", "https://[::1]/webhooks/twilio")), 400, 21609),
		"callback to a private address":          rejected(smsCall(smsWith("StatusCallback", "https://192.168.1.7/webhooks/twilio")), 400, 21609),
		"callback to a link's address": rejected(smsCall(smsWith("StatusCallback", "https://169.254.169.254/webhooks/twilio")), 400,
			21609),
		"callback to a private name": rejected(smsCall(smsWith("StatusCallback", "https://gateway.herald.local/webhooks/twilio")), 400, 21609),
		"callback to a bare name":    rejected(smsCall(smsWith("StatusCallback", "https://gateway/webhooks/twilio")), 400, 21609),
	})
}

// rejected returns a call that Twilio answers with an error code.
func rejected(c call, status, code int) answered {
	return answered{c, status, fmt.Sprintf(`^\{"code":%d,"message":"[^"]+","more_info":"https://[^"]+","status":%d\}$`, code, status)}
}

func TestSMSCallbackOfALocalSandbox(t *testing.T) {
	t.Parallel()

	b := startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true})
	for _, callback := range []string{"http://127.0.0.1:8080/webhooks/twilio", "https://gateway.herald.local/webhooks/twilio"} {
		b.expect(t, http.StatusCreated, smsCall(smsWith("StatusCallback", callback)))
	}
	b.expect(t, http.StatusBadRequest, smsCall(smsWith("StatusCallback", "ftp://127.0.0.1/")))
}

func TestSMSRequestRefused(t *testing.T) {
	t.Parallel()
	with := func(authorization, contentType string) call {
		c := smsCall(goodSMS())
		c.authorization, c.contentType = authorization, contentType
		return c
	}
	const form = "application/x-www-form-urlencoded"
	requireAnswers(t, map[string]answered{
		"no authorization": rejected(with("", form), 401, 20003),
		"other account":    rejected(with(basic("AC124", "token"), form), 401, 20003),
		"no token":         rejected(with(basic("AC123", ""), form), 401, 20003),
		"bearer":           rejected(with("Bearer token", form), 401, 20003),
		"JSON":             rejected(with(basic("AC123", "token"), "application/json"), 400, 20001),
	})
}

func TestSMSAccepted(t *testing.T) {
	t.Parallel()

	taken := func(field, value string) answered {
		form := smsWith(field, value)
		return answered{
			smsCall(form), http.StatusCreated,
			`"body":"` + form.Get("Body") + `",.*"sid":"SM[0-9a-f]{32}","status":"queued","to":"` + regexp.QuoteMeta(form.Get("To")) + `"`,
		}
	}
	requireAnswers(t, map[string]answered{
		"to the magic sender":     taken("To", "+15005550006"),
		"to Italy":                taken("To", "+393331234567"),
		"from any number":         taken("From", "+12025550123"),
		"from a name":             taken("From", "Herald 24"),
		"1,600 characters":        taken("Body", strings.Repeat("à", 1600)),
		"without status callback": taken("StatusCallback", ""),
	})
}
