package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/webhook"
	"herald/internal/config/environment"
	"herald/tools/sandbox"
)

func TestSettings(t *testing.T) {
	const noSecret = "must be whsec_ and 24 to 64 bytes in base64: make it with `echo whsec_$(openssl rand -base64 32)`"
	const ofTheSandbox = "is the sandbox's, but the provider is not: set the key of your account"
	channeltest.RunSettings(t, channeltest.Environment{
		New:   func() channeltest.SenderSettings { return &webhook.Settings{} },
		Whole: map[string]string{"WEBHOOK_ALLOWED_HOSTS": "Hooks.example.com, 127.0.0.1:9090", "WEBHOOK_SECRET": newSecret, "WEBHOOK_SECRET_PREVIOUS": oldSecret},
		Off:   "WEBHOOK_ALLOWED_HOSTS",
		Needs: []string{"WEBHOOK_ALLOWED_HOSTS", "WEBHOOK_SECRET"},
		Right: []map[string]string{{}, {"WEBHOOK_ALLOWED_HOSTS": "*", "WEBHOOK_SECRET": newSecret}, {"WEBHOOK_ALLOWED_HOSTS": "127.0.0.1:9090", "WEBHOOK_SECRET": sandbox.WebhookSecret}},
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

// The secret that everybody knows signs nothing for any host.
func TestSandboxSecretForAnyHost(t *testing.T) {
	t.Parallel()

	r := environment.NewReader(map[string]string{"WEBHOOK_ALLOWED_HOSTS": "*", "WEBHOOK_SECRET": sandbox.WebhookSecret})
	new(webhook.Settings).Read(r)
	require.ErrorContains(t, r.Err(), "WEBHOOK_SECRET is the sandbox's")
}

// Only ALLOW_CLEARTEXT sends to another machine in clear text. A channel that is off finds no flaw.
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
		{hosts: "hooks.example.com:443", webhook: "https://hooks.example.com:8443/x", want: "the host of the recipient's webhook is not in WEBHOOK_ALLOWED_HOSTS"},
	}
	for _, tt := range tests {
		r := environment.NewReader(map[string]string{"WEBHOOK_ALLOWED_HOSTS": tt.hosts})
		r.AllowCleartext = tt.cleartext != ""
		var settings webhook.Settings
		settings.Read(r)
		require.Equal(t, tt.want, settings.Flaw(tt.webhook), "%+v", tt)
	}
}
