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

	"herald/internal/sandbox"
)

const smsPath = "/2010-04-01/Accounts/AC123/Messages.json"

func smsCall(form url.Values) call {
	return call{http.MethodPost, smsPath, basic("AC123", "token"), "application/x-www-form-urlencoded", form.Encode()}
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

// smsWith is a good message but for one field; "" takes it out.
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
		{"no To", smsWith("To", ""), 400, 21604},
		{"To without +", smsWith("To", "15551234567"), 400, 21211},
		{"To with spaces", smsWith("To", "+1 555 123 4567"), 400, 21211},
		{"To too short", smsWith("To", "+1555123"), 400, 21211},
		{"To too long", smsWith("To", "+155512345678"), 400, 21211},
		{"To of no country", smsWith("To", "+99912345678"), 400, 21211},
		{"To is a name", smsWith("To", "Ada"), 400, 21211},
		{"magic: invalid", smsWith("To", "+15005550001"), 400, 21211},
		{"magic: no route", smsWith("To", "+15005550002"), 400, 21612},
		{"magic: no permission", smsWith("To", "+15005550003"), 400, 21408},
		{"magic: opted out", smsWith("To", "+15005550004"), 400, 21610},
		{"magic: not mobile", smsWith("To", "+15005550009"), 400, 21614},
		{"no From", smsWith("From", ""), 400, 21603},
		{"bad From", smsWith("From", "12"), 400, 21212},
		{"name too long", smsWith("From", "HeraldHerald"), 400, 21212},
		{"magic: invalid From", smsWith("From", "+15005550001"), 400, 21212},
		{"magic: not ours", smsWith("From", "+15005550007"), 400, 21606},
		{"magic: full queue", smsWith("From", "+15005550008"), 429, 21611},
		{"no body", smsWith("Body", ""), 400, 21602},
		{"body too long", smsWith("Body", strings.Repeat("à", 1601)), 400, 21617},
		{"relative callback", smsWith("StatusCallback", "/webhooks/twilio"), 400, 21609},
		{"callback of another scheme", smsWith("StatusCallback", "ftp://example.com/"), 400, 21609},
		{"broken callback", smsWith("StatusCallback", "http://%zz"), 400, 21609},
		{"callback to itself", smsWith("StatusCallback", "http://localhost:8080/webhooks/twilio"), 400, 21609},
		{"callback to a loopback address", smsWith("StatusCallback", "https://127.0.0.1/webhooks/twilio"), 400, 21609},
		{"callback to a loopback address of IPv6", smsWith("StatusCallback", "https://[::1]/webhooks/twilio"), 400, 21609},
		{"callback to a private address", smsWith("StatusCallback", "https://192.168.1.7/webhooks/twilio"), 400, 21609},
		{"callback to a link's address", smsWith("StatusCallback", "https://169.254.169.254/webhooks/twilio"), 400, 21609},
		{"callback to a private name", smsWith("StatusCallback", "https://gateway.herald.local/webhooks/twilio"), 400, 21609},
		{"callback to a bare name", smsWith("StatusCallback", "https://gateway/webhooks/twilio"), 400, 21609},
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
		{"no authorization", "", good.contentType, 401, 20003},
		{"other account", basic("AC124", "token"), good.contentType, 401, 20003},
		{"no token", basic("AC123", ""), good.contentType, 401, 20003},
		{"bearer", "Bearer token", good.contentType, 401, 20003},
		{"JSON", good.authorization, "application/json", 400, 20001},
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
