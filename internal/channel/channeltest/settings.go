package channeltest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// SenderSettings is the settings of one channel.
type SenderSettings interface {
	Read(r *environment.Reader)
	NewSender(p channel.Process) (channel.Sender, error)
}

// PublicURL is the gateway's address for the senders of [NewSender].
const PublicURL = "https://herald.example.com/base"

// UnsubscribeURL returns a message's link for the senders of [NewSender].
func UnsubscribeURL(m notification.Message) string {
	return PublicURL + "/unsubscribe?token=" + m.UserID + "." + m.Category
}

// NewSender returns a sender. timeout limits one Send.
func NewSender(t *testing.T, settings SenderSettings, timeout time.Duration) channel.Sender {
	t.Helper()
	sender, err := settings.NewSender(channel.Process{Timeout: timeout, Slots: 100, PublicURL: PublicURL, UnsubscribeURL: UnsubscribeURL})
	require.NoError(t, err)
	return sender
}

// Environment describes the settings of a channel.
type Environment struct {
	New   func() SenderSettings
	Whole map[string]string // every setting with a valid value; each secret contains "hunter"
	Off   string            // if this setting is empty, the channel is off; empty: always on
	Needs []string          // settings required to be on
	Wrong []WrongSetting
	Right []map[string]string // other valid environments
}

// WrongSetting is an invalid change to Whole.
type WrongSetting struct {
	Key, Value string
	Want       string // the error about the key
}

// RunSettings tests which settings of a channel are invalid, and the errors' texts. It calls
// t.Parallel.
func RunSettings(t *testing.T, e Environment) {
	t.Helper()
	t.Parallel()

	for _, values := range append(e.Right, e.Whole) {
		settings, r := e.New(), environment.NewReader(values)
		settings.Read(r)
		require.NoError(t, r.Err(), "%v", values)
		_, err := settings.NewSender(channel.Process{Timeout: time.Second, Slots: 1, PublicURL: PublicURL})
		if e.Off != "" && values[e.Off] == "" {
			var off *channel.OffError
			require.ErrorAs(t, err, &off, "%v", values)
			for _, setting := range e.Needs {
				require.Equal(t, values[setting] == "", slices.Contains(off.Missing, setting), "%v: %s", values, setting)
				require.Equal(t, values[setting] == "", strings.Contains(off.Error(), setting), "%v: %s", values, off)
			}
		} else {
			require.NoError(t, err, "%v", values)
		}
	}
	for _, wrong := range e.Wrong {
		t.Run(wrong.Key+"="+wrong.Value, func(t *testing.T) {
			t.Parallel()
			values := maps.Clone(e.Whole)
			values[wrong.Key] = wrong.Value
			r := environment.NewReader(values)
			e.New().Read(r)
			require.ErrorContains(t, r.Err(), "settings: ")
			// The change may leave other settings incomplete.
			require.Contains(t, strings.Split(strings.TrimPrefix(r.Err().Error(), "settings: "), "; "), wrong.Key+" "+wrong.Want)
			require.NotContains(t, r.Err().Error(), "hunter")
		})
	}
}

// Errors that several channels' settings share.
const (
	NoURL      = "must be a URL such as https://host, without user, query and fragment"
	Cleartext  = "leads to another host without encryption: it needs https://, or ALLOW_CLEARTEXT=true"
	NoHosts    = "must be hosts, or host:port, with commas between them"
	NotVisible = "must be visible ASCII, without spaces"
)
