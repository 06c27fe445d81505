package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/webhook"
	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

const (
	newSecret = "whsec_aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg=="
	notPublic = "the recipient's webhook has an address that is not public"
)

func TestConformance(t *testing.T) {
	exceptions := map[int]notification.FailureClass{http.StatusUnauthorized: notification.Refused, http.StatusForbidden: notification.Refused}
	for status := 300; status < 400; status++ {
		exceptions[status] = notification.Refused // nobody has entered the URL that it leads to
	}
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, baseURL string) {
			msg.To = fmt.Sprintf("%s/hooks/secret%04d", baseURL, n)
		},
		Success:    channeltest.Answer{Status: http.StatusOK, Body: "thank you"},
		AnySuccess: true,
		Exceptions: exceptions,
		Secrets:    []string{sandbox.WebhookSecret},
	})
}

// newSender allows the loopback host of baseURL.
func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	base, err := url.Parse(baseURL)
	require.NoError(t, err)
	return channeltest.NewSender(t, &webhook.Settings{AllowedHosts: []string{base.Host}, Secret: sandbox.WebhookSecret}, timeout)
}

// The receiver verifies each attempt with the standard's library. The id is the same in each attempt.
// During a rotation, both secrets are valid.
func TestSign(t *testing.T) {
	t.Parallel()

	hashed := regexp.MustCompile(`^[0-9a-f]{64}$`)
	for deliveryID, isHashed := range map[string]bool{
		"evt-1-staff10-WEBHOOK": false, strings.Repeat("a", 128): false, strings.Repeat("a", 129): true,
		"evt.1-staff10-WEBHOOK": true, "evt-à-staff10-WEBHOOK": true, "evt 1-staff10-WEBHOOK": true,
	} {
		var ids []string
		address := channeltest.Answering(t, channeltest.Answer{Status: http.StatusNoContent}, func(r *http.Request, body string) {
			ids = append(ids, r.Header.Get("webhook-id"))
			for _, secret := range []string{sandbox.WebhookSecret, newSecret} {
				receiver, err := standardwebhooks.NewWebhook(secret)
				assert.NoError(t, err)
				assert.NoError(t, receiver.Verify([]byte(body), r.Header))
				assert.Error(t, receiver.Verify([]byte(body+" "), r.Header))
			}
			var frame notification.Frame
			assert.NoError(t, json.Unmarshal([]byte(body), &frame))
			assert.Equal(t, deliveryID, frame.DeliveryID)
			assert.Equal(t, "POST /hooks/x", r.Method+" "+r.URL.Path)
		})
		settings := &webhook.Settings{
			AllowedHosts: []string{strings.TrimPrefix(address, "http://")}, Secret: newSecret, SecretPrevious: sandbox.WebhookSecret,
		}
		sender := channeltest.NewSender(t, settings, time.Minute)
		msg := channeltest.Message(1)
		msg.DeliveryID, msg.To = deliveryID, address+"/hooks/x"
		for range 2 {
			_, err := sender.Send(t.Context(), msg)
			require.NoError(t, err)
		}
		require.Equal(t, []string{webhook.ID(deliveryID), webhook.ID(deliveryID)}, ids)
		require.Equal(t, isHashed, hashed.MatchString(ids[0]), deliveryID)
		require.Equal(t, !isHashed, ids[0] == deliveryID, deliveryID)
	}
}

// The server belongs to the recipient: 410 suppresses its address, and no failure makes the channel rest.
func TestFailures(t *testing.T) {
	t.Parallel()

	for status, want := range map[int]notification.ProviderError{
		http.StatusGone:               {Class: notification.Refused, Suppress: notification.SuppressedInvalid},
		http.StatusNotFound:           {Class: notification.Refused},
		http.StatusServiceUnavailable: {Class: notification.Unavailable},
	} {
		address := channeltest.Answering(t, channeltest.Answer{Status: status}, channeltest.Unseen)
		msg := channeltest.Message(1)
		msg.To = address + "/hooks/x"
		_, err := newSender(t, address, time.Minute).Send(t.Context(), msg)
		want.Provider, want.Status, want.Theirs = "webhook", status, true
		require.Equal(t, &want, err)
	}
}

// The test of Slack covers more webhooks that the same rules refuse.
func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	const notListed = "the host of the recipient's webhook is not in WEBHOOK_ALLOWED_HOSTS"
	to := func(url string) func(*notification.Message) {
		return func(m *notification.Message) { m.To = url }
	}
	listed := []string{"hooks.example.com", "127.0.0.1:9090", "10.0.0.7"}
	sender := channeltest.NewSender(t, &webhook.Settings{AllowedHosts: listed, Secret: newSecret}, time.Minute)
	channeltest.RunRefusals(t, sender, "webhook", channeltest.Message(1), map[string]channeltest.Refusal{
		"empty":               {Change: to(""), Code: "invalid webhook"},
		"another host":        {Change: to("https://evil.example/x"), Code: notListed},
		"plain":               {Change: to("http://hooks.example.com/x"), Code: "webhook is not https"},
		"listed, but private": {Change: to("https://10.0.0.7/x"), Code: notPublic},
		"too long": {Change: func(m *notification.Message) {
			m.To, m.Body = "https://hooks.example.com/x", strings.Repeat("\x01", 64<<10)
		}, Code: "message too long"},
	})
}

func TestSettings(t *testing.T) {
	const noSecret = "must be whsec_ and 24 to 64 bytes in base64: make it with `echo whsec_$(openssl rand -base64 32)`"
	const ofTheSandbox = "is the sandbox's, but the provider is not: set the key of your account"
	channeltest.RunSettings(t, channeltest.Environment{
		New: func() channeltest.SenderSettings { return &webhook.Settings{} },
		Whole: map[string]string{
			"WEBHOOK_ALLOWED_HOSTS": "Hooks.example.com, 127.0.0.1:9090", "WEBHOOK_SECRET": newSecret, "WEBHOOK_SECRET_PREVIOUS": oldSecret,
		},
		Off:   "WEBHOOK_ALLOWED_HOSTS",
		Needs: []string{"WEBHOOK_ALLOWED_HOSTS", "WEBHOOK_SECRET"},
		Right: []map[string]string{
			{}, {"WEBHOOK_ALLOWED_HOSTS": "*", "WEBHOOK_SECRET": newSecret},
			{"WEBHOOK_ALLOWED_HOSTS": "127.0.0.1:9090", "WEBHOOK_SECRET": sandbox.WebhookSecret},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "WEBHOOK_ALLOWED_HOSTS", Value: "https://hooks.example.com", Want: channeltest.NoHosts},
			{Key: "WEBHOOK_ALLOWED_HOSTS", Value: "", Want: "is not set, but WEBHOOK_SECRET is"},
			{Key: "WEBHOOK_SECRET", Value: "", Want: "is not set, but WEBHOOK_ALLOWED_HOSTS is"},
			{Key: "WEBHOOK_SECRET", Value: "hunter", Want: noSecret},
			{Key: "WEBHOOK_SECRET", Value: "aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg==", Want: noSecret},
			{Key: "WEBHOOK_SECRET", Value: "whsec_aHVudGVyMg==", Want: noSecret},
			{Key: "WEBHOOK_SECRET", Value: sandbox.WebhookSecret, Want: ofTheSandbox},
			{Key: "WEBHOOK_SECRET_PREVIOUS", Value: "hunter", Want: noSecret},
		},
	})
}

const oldSecret = "whsec_aHVudGVyMS1odW50ZXIxLWh1bnRlcjEtaHVudGVyMQ=="

// The sandbox's secret, which everybody knows, is refused if any host is allowed.
func TestSandboxSecretForAnyHost(t *testing.T) {
	t.Parallel()

	r := environment.NewReader(map[string]string{"WEBHOOK_ALLOWED_HOSTS": "*", "WEBHOOK_SECRET": sandbox.WebhookSecret})
	new(webhook.Settings).Read(r)
	require.ErrorContains(t, r.Err(), "WEBHOOK_SECRET is the sandbox's")
}

// Only with ALLOW_CLEARTEXT may a webhook on another machine use http. A channel that is off finds no
// flaw.
func TestFlaw(t *testing.T) {
	t.Parallel()

	tests := []struct {
		hosts, cleartext, webhook, want string
	}{
		{webhook: "http://hooks.example.com/x"},
		{hosts: "*", webhook: "https://hooks.example.com/x"},
		{hosts: "*", webhook: "http://hooks.example.com/x", want: "webhook is not https"},
		{hosts: "*", cleartext: "true", webhook: "http://hooks.example.com/x"},
		{hosts: "hooks.example.com", webhook: "https://HOOKS.example.com:8443/x"},
		{hosts: "hooks.example.com:443", webhook: "https://hooks.example.com:8443/x",
			want: "the host of the recipient's webhook is not in WEBHOOK_ALLOWED_HOSTS"},
	}
	for _, tt := range tests {
		r := environment.NewReader(map[string]string{"WEBHOOK_ALLOWED_HOSTS": tt.hosts})
		r.AllowCleartext = tt.cleartext != ""
		var settings webhook.Settings
		settings.Read(r)
		require.Equal(t, tt.want, settings.Flaw(tt.webhook), "%+v", tt)
	}
}
