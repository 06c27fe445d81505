package fcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/push/fcm"
	"herald/internal/config/environment"
)

func TestSettings(t *testing.T) {
	channeltest.RunSettings(t, channeltest.Environment{
		New:   func() channeltest.SenderSettings { return &fcm.Settings{} },
		Whole: map[string]string{"FCM_PROJECT_ID": "herald-demo", "FCM_BASE_URL": "http://[::1]:9090/v1"},
		Off:   "FCM_PROJECT_ID",
		Needs: []string{"FCM_PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS"},
		Right: []map[string]string{
			{},
			{"GOOGLE_APPLICATION_CREDENTIALS": "key.json"}, // for another program
			{"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "https://sandbox/v1"},
			{"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "http://127.0.0.1:9090"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "FCM_PROJECT_ID", Value: "a/b", Want: "must be a project's id"},
			{Key: "FCM_BASE_URL", Value: "https:///v1", Want: channeltest.NoURL},
			{Key: "FCM_BASE_URL", Value: "http://localhost.example.com/v1", Want: channeltest.Cleartext},
		},
	})
}

// Google's own service requires credentials, and NewSender reads them at once.
func TestSettingsForGoogle(t *testing.T) {
	t.Parallel()

	for _, values := range []map[string]string{{"FCM_PROJECT_ID": "p"}, {"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "https://eu.fcm.googleapis.com/v1"}} {
		r := environment.NewReader(values)
		new(fcm.Settings).Read(r)
		require.EqualError(t, r.Err(), "settings: GOOGLE_APPLICATION_CREDENTIALS is not set, but FCM_PROJECT_ID is")
	}
	settings := fcm.Settings{ProjectID: "p", CredentialsFile: "no such file"}
	_, err := settings.NewSender(channel.Process{})
	require.ErrorContains(t, err, "fcm: read credentials")
}
