package sendgrid_test

import (
	"testing"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/email/sendgrid"
)

func TestSettings(t *testing.T) {
	const address = "must be a mail address in ASCII, without a name"
	channeltest.RunSettings(t, channeltest.Environment{
		New:   func() channeltest.SenderSettings { return &sendgrid.Settings{} },
		Whole: map[string]string{"SENDGRID_API_KEY": "hunter2", "SENDGRID_BASE_URL": "http://127.0.0.1:9090/", "EMAIL_FROM": "herald@example.com", "EMAIL_FROM_NAME": "Herald & Co"},
		Off:   "SENDGRID_API_KEY",
		Needs: []string{"SENDGRID_API_KEY", "EMAIL_FROM"},
		Right: []map[string]string{
			{},
			{"EMAIL_FROM": "herald@example.com"},
			{"SENDGRID_API_KEY": "hunter2", "EMAIL_FROM": "herald@example.com"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "SENDGRID_API_KEY", Value: "hunter2\n", Want: channeltest.NotVisible},
			{Key: "SENDGRID_BASE_URL", Value: "api.sendgrid.com", Want: channeltest.NoURL},
			{Key: "SENDGRID_BASE_URL", Value: "http://sandbox:9090", Want: channeltest.Cleartext},
			{Key: "EMAIL_FROM", Value: "", Want: "is not set, but SENDGRID_API_KEY is"},
			{Key: "EMAIL_FROM", Value: "nonsense", Want: address},
			{Key: "EMAIL_FROM", Value: "Herald <herald@example.com>", Want: address},
			{Key: "EMAIL_FROM", Value: "élodie@example.com", Want: address},
			{Key: "EMAIL_FROM", Value: "a@example.com, b@example.com", Want: address},
			{Key: "EMAIL_FROM_NAME", Value: "Élodie", Want: "must be one line of ASCII"},
			{Key: "EMAIL_FROM_NAME", Value: "Herald\r\nBcc: x", Want: "must be one line of ASCII"},
		},
	})
}
