package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/slack"
	"herald/internal/notification"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, baseURL string) {
			msg.To = fmt.Sprintf("%s/services/T0/B0/secret%04d", baseURL, n)
		},
		Success:    channeltest.Answer{Status: http.StatusOK, Body: "ok"},
		Exceptions: map[int]notification.FailureClass{http.StatusForbidden: notification.Refused}, // the webhook is wrong
	})
}

// newSender allows the loopback host of baseURL.
func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	base, err := url.Parse(baseURL)
	require.NoError(t, err)
	return channeltest.NewSender(t, &slack.Settings{AllowedHosts: []string{"hooks.slack.com", base.Host}}, timeout)
}

// payload is Slack's payload, as documented.
type payload struct {
	Text   string
	Blocks []struct {
		Type    string
		BlockID string `json:"block_id"`
		Text    struct {
			Type, Text string
			Verbatim   bool
		}
	}
}

func read(r *http.Request, body string) (payload, error) {
	var sent payload
	switch err := json.Unmarshal([]byte(body), &sent); {
	case err != nil:
		return payload{}, err
	case r.Method != http.MethodPost || len(sent.Blocks) == 0:
		return payload{}, errors.New("no message")
	}
	return sent, nil
}
