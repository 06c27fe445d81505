package notification_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// An integer that a double cannot hold is a text. Both forms are read.
func TestJSONInt(t *testing.T) {
	t.Parallel()

	for n, want := range map[int64]string{
		0: "0", 7: "7", -7: "-7", 9007199254740991: "9007199254740991", 9007199254740992: `"9007199254740992"`,
		-9007199254740992:  `"-9007199254740992"`,
		653247040368672768: `"653247040368672768"`, 9223372036854775807: `"9223372036854775807"`, -9223372036854775808: `"-9223372036854775808"`,
	} {
		text, err := json.Marshal(notification.JSONInt(n))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		for _, form := range []string{want, fmt.Sprint(n), fmt.Sprintf("%q", fmt.Sprint(n))} {
			var read notification.JSONInt
			require.NoError(t, json.Unmarshal([]byte(form), &read), form)
			require.Equal(t, notification.JSONInt(n), read, form)
		}
	}
	for _, wrong := range []string{`"x"`, `""`, `"`, `1.5`, `"1.5"`, `9223372036854775808`, `{}`} {
		require.Error(t, json.Unmarshal([]byte(wrong), new(notification.JSONInt)), wrong)
	}
}

// The frame, which sockets, webhooks and the inbox get, holds no number that JavaScript rounds.
func TestFrameOfALargeID(t *testing.T) {
	t.Parallel()

	text, err := json.Marshal(notification.Message{NotificationID: 653247040368672768}.Frame())
	require.NoError(t, err)
	require.Contains(t, string(text), `"notification_id":"653247040368672768"`)
}
