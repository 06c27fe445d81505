package fcm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/push/fcm"
	"herald/internal/notification"
)

const accepted = `{"name":"projects/demo/messages/0:1500415314455276"}`

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.Devices = []string{fmt.Sprintf("devicetoken-%04d", n)}
		},
		Success:    channeltest.Answer{Status: http.StatusOK, Body: accepted},
		ProviderID: "projects/demo/messages/0:1500415314455276",
	})
}

func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	return channeltest.NewSender(t, &fcm.Settings{ProjectID: "demo", BaseURL: baseURL + "/v1"}, timeout)
}

// message is FCM's message, as documented.
type message struct {
	Token        string
	Notification *struct{ Title, Body string }
	Data         map[string]string
	Android      struct {
		CollapseKey  string `json:"collapse_key"`
		Priority     string
		TTL          string
		Notification struct{ Tag string }
	}
	Webpush struct{ Headers map[string]string }
	APNS    struct {
		Headers map[string]string
		Payload struct {
			APS struct {
				ContentAvailable int `json:"content-available"`
			}
		}
	}
}

func read(r *http.Request, body string) (message, error) {
	var request struct{ Message message }
	switch err := json.Unmarshal([]byte(body), &request); {
	case err != nil:
		return message{}, err
	case r.Method != http.MethodPost || r.URL.Path != "/v1/projects/demo/messages:send":
		return message{}, errors.New("not for us")
	case strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") == "":
		return message{}, errors.New("not from us")
	}
	return request.Message, nil
}
