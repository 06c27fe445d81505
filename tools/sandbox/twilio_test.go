package sandbox_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

const smsPath = "/2010-04-01/Accounts/AC123/Messages.json"

func smsCall(form url.Values) call {
	return call{method: http.MethodPost, path: smsPath, authorization: basic("AC123", "token"), contentType: "application/x-www-form-urlencoded", body: form.Encode()}
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
	tests := []struct {
		name   string
		form   url.Values
		status int
		code   int
	}{
		{name: "no To", form: smsWith("To", ""), status: 400, code: 21604},
		{name: "To without +", form: smsWith("To", "15551234567"), status: 400, code: 21211},
		{name: "To with spaces", form: smsWith("To", "+1 555 123 4567"), status: 400, code: 21211},
		{name: "To too short", form: smsWith("To", "+1555123"), status: 400, code: 21211},
		{name: "To too long", form: smsWith("To", "+155512345678"), status: 400, code: 21211},
		{name: "To of no country", form: smsWith("To", "+99912345678"), status: 400, code: 21211},
		{name: "To is a name", form: smsWith("To", "Ada"), status: 400, code: 21211},
		{name: "magic: invalid", form: smsWith("To", "+15005550001"), status: 400, code: 21211},
		{name: "magic: no route", form: smsWith("To", "+15005550002"), status: 400, code: 21612},
		{name: "magic: no permission", form: smsWith("To", "+15005550003"), status: 400, code: 21408},
		{name: "magic: opted out", form: smsWith("To", "+15005550004"), status: 400, code: 21610},
		{name: "magic: not mobile", form: smsWith("To", "+15005550009"), status: 400, code: 21614},
		{name: "no From", form: smsWith("From", ""), status: 400, code: 21603},
		{name: "bad From", form: smsWith("From", "12"), status: 400, code: 21212},
		{name: "name too long", form: smsWith("From", "HeraldHerald"), status: 400, code: 21212},
		{name: "magic: invalid From", form: smsWith("From", "+15005550001"), status: 400, code: 21212},
		{name: "magic: not ours", form: smsWith("From", "+15005550007"), status: 400, code: 21606},
		{name: "magic: full queue", form: smsWith("From", "+15005550008"), status: 429, code: 21611},
		{name: "no body", form: smsWith("Body", ""), status: 400, code: 21602},
		{name: "body too long", form: smsWith("Body", strings.Repeat("à", 1601)), status: 400, code: 21617},
		{name: "relative callback", form: smsWith("StatusCallback", "/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback of another scheme", form: smsWith("StatusCallback", "ftp://example.com/"), status: 400, code: 21609},
		{name: "broken callback", form: smsWith("StatusCallback", "http://%zz"), status: 400, code: 21609},
		{name: "callback to itself", form: smsWith("StatusCallback", "http://localhost:8080/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback to a loopback address", form: smsWith("StatusCallback", "https://127.0.0.1/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback to a loopback address of IPv6", form: smsWith("StatusCallback", "https://[::1]/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback to a private address", form: smsWith("StatusCallback", "https://192.168.1.7/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback to a link's address", form: smsWith("StatusCallback", "https://169.254.169.254/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback to a private name", form: smsWith("StatusCallback", "https://gateway.herald.local/webhooks/twilio"), status: 400, code: 21609},
		{name: "callback to a bare name", form: smsWith("StatusCallback", "https://gateway/webhooks/twilio"), status: 400, code: 21609},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requireTwilio(t, start(t), smsCall(tt.form), tt.status, tt.code)
		})
	}
}

func TestSMSCallbackOfALocalSandbox(t *testing.T) {
	t.Parallel()

	b := startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true})
	for _, callback := range []string{"http://127.0.0.1:8080/webhooks/twilio", "https://gateway.herald.local/webhooks/twilio"} {
		status, _, body := b.answer(t, smsCall(smsWith("StatusCallback", callback)))
		require.Equal(t, http.StatusCreated, status, body)
	}
	status, _, body := b.answer(t, smsCall(smsWith("StatusCallback", "ftp://127.0.0.1/")))
	require.Equal(t, http.StatusBadRequest, status, body)
}

func TestSMSRequestRefused(t *testing.T) {
	t.Parallel()
	good := smsCall(goodSMS())
	tests := []struct {
		name                       string
		authorization, contentType string
		status, code               int
	}{
		{name: "no authorization", contentType: good.contentType, status: 401, code: 20003},
		{name: "other account", authorization: basic("AC124", "token"), contentType: good.contentType, status: 401, code: 20003},
		{name: "no token", authorization: basic("AC123", ""), contentType: good.contentType, status: 401, code: 20003},
		{name: "bearer", authorization: "Bearer token", contentType: good.contentType, status: 401, code: 20003},
		{name: "JSON", authorization: good.authorization, contentType: "application/json", status: 400, code: 20001},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := good
			c.authorization, c.contentType = tt.authorization, tt.contentType
			requireTwilio(t, start(t), c, tt.status, tt.code)
		})
	}
}

func requireTwilio(t *testing.T, b box, c call, status, code int) {
	t.Helper()
	got, _, body := b.answer(t, c)
	require.Equal(t, status, got, body)

	var answer struct {
		Code, Status int
		Message      string
		MoreInfo     string `json:"more_info"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	require.Equal(t, code, answer.Code)
	require.Equal(t, status, answer.Status)
	require.NotEmpty(t, answer.Message)
	require.Contains(t, answer.MoreInfo, "https://")

	entry := b.only(t)
	require.Equal(t, status, entry.Status)
	require.False(t, entry.Accepted)
}

func TestSMSAccepted(t *testing.T) {
	t.Parallel()
	tests := map[string]url.Values{
		"to the magic sender":     smsWith("To", "+15005550006"),
		"to Italy":                smsWith("To", "+393331234567"),
		"from any number":         smsWith("From", "+12025550123"),
		"from a name":             smsWith("From", "Herald 24"),
		"1,600 characters":        smsWith("Body", strings.Repeat("à", 1600)),
		"without status callback": smsWith("StatusCallback", ""),
	}
	for name, form := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, body := b.answer(t, smsCall(form))
			require.Equal(t, http.StatusCreated, status, body)

			var answer struct{ Sid, Status, To, Body string }
			require.NoError(t, json.Unmarshal([]byte(body), &answer))
			require.Regexp(t, `^SM[0-9a-f]{32}$`, answer.Sid)
			require.Equal(t, "queued", answer.Status)
			require.Equal(t, form.Get("To"), answer.To)
			require.Equal(t, form.Get("Body"), answer.Body)
			require.True(t, b.only(t).Accepted)
		})
	}
}
