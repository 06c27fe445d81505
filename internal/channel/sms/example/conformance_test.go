package example

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/internal/wiring"
)

func TestConformance(t *testing.T) {
	connect := func(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
		t.Helper()
		return channeltest.NewSender(t, &Settings{Token: "secrettoken", BaseURL: baseURL}, timeout)
	}
	channeltest.Run(t, connect, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.To = fmt.Sprintf("+3934012%05d", n)
		},
		Success:    channeltest.Answer{Status: 201, Body: `{"id": "x1"}`},
		ProviderID: "x1",
		Secrets:    []string{"secrettoken"},
		Arrival: func(body string) channeltest.Arrival {
			var got struct{ Key, To, Text string }
			_ = json.Unmarshal([]byte(body), &got) // a missing field fails the comparison
			return channeltest.Arrival{DeliveryID: got.Key, To: got.To, Text: got.Text}
		},
	})
}

// With the exercise's line in wiring.New, the new provider gets messages if the provider before it is
// busy.
func TestAddedProvider(t *testing.T) {
	t.Parallel()

	wired := wiring.New()
	texts := wired[notification.SMS]
	texts.All = append(texts.All, wiring.Provider{Name: "example", Settings: &Settings{}})
	r := environment.NewReader(map[string]string{
		"VONAGE_API_KEY": "abcd1234", "VONAGE_API_SECRET": "hunter2", "VONAGE_FROM": "Herald",
		"VONAGE_BASE_URL":  channeltest.Answering(t, channeltest.Answer{Status: 429}, channeltest.Unseen),
		"EXAMPLE_TOKEN":    "secrettoken",
		"EXAMPLE_BASE_URL": channeltest.Answering(t, channeltest.Answer{Status: 201, Body: `{"id": "x1"}`}, channeltest.Unseen),
		"SMS_PROVIDERS":    "vonage,example",
	})
	wired.Read(r)
	require.NoError(t, r.Err())
	sender, err := texts.NewSender(channel.Process{Timeout: time.Minute, Slots: 1}, wiring.Limits{})
	require.NoError(t, err)

	msg := channeltest.Message(1)
	msg.To = "+393401200001"
	answer, err := sender.Send(t.Context(), msg)

	require.NoError(t, err)
	require.Equal(t, []string{"example", "x1"}, []string{answer.Provider, answer.ProviderID})
	require.True(t, answer.Failover)
}
