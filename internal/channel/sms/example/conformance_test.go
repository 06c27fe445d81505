package example

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/notification"
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
			_ = json.Unmarshal([]byte(body), &got) // what is missing did not arrive
			return channeltest.Arrival{DeliveryID: got.Key, To: got.To, Text: got.Text}
		},
	})
}
