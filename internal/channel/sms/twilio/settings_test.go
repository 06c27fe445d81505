package twilio_test

import (
	"testing"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/sms/twilio"
)

func TestSettings(t *testing.T) {
	const phone = "must be a phone number in E.164, such as +15005550006"
	channeltest.RunSettings(t, channeltest.Environment{
		New:   func() channeltest.SenderSettings { return &twilio.Settings{} },
		Whole: map[string]string{"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "hunter2", "TWILIO_FROM": "+15005550006", "TWILIO_BASE_URL": "http://127.0.0.1:9090"},
		Off:   "TWILIO_ACCOUNT_SID",
		Needs: []string{"TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_FROM"},
		Right: []map[string]string{
			{},
			{"TWILIO_FROM": "+15005550006"},
			{"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "hunter2", "TWILIO_FROM": "+15005550006"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "TWILIO_ACCOUNT_SID", Value: "AC/../1", Want: "must be an account's SID"},
			{Key: "TWILIO_ACCOUNT_SID", Value: "", Want: "is not set, but TWILIO_AUTH_TOKEN is"},
			{Key: "TWILIO_AUTH_TOKEN", Value: "", Want: "is not set, but TWILIO_ACCOUNT_SID is"},
			{Key: "TWILIO_AUTH_TOKEN", Value: "hunter 2", Want: "must be letters and digits"},
			{Key: "TWILIO_AUTH_TOKEN", Value: "hunter2\n", Want: "must be letters and digits"},
			{Key: "TWILIO_FROM", Value: "", Want: "is not set, but TWILIO_ACCOUNT_SID is"},
			{Key: "TWILIO_FROM", Value: "Herald", Want: phone},
			{Key: "TWILIO_FROM", Value: "06 1234 5678", Want: phone},
			{Key: "TWILIO_FROM", Value: "+1 500 555 0006", Want: phone},
			{Key: "TWILIO_FROM", Value: "+12345678901234567", Want: phone},
			{Key: "TWILIO_BASE_URL", Value: "https://u@api.twilio.com", Want: channeltest.NoURL},
			{Key: "TWILIO_BASE_URL", Value: "http://10.0.0.7:9090", Want: channeltest.Cleartext},
		},
	})
}
