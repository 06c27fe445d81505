package webpush_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/push/webpush"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

// The private key of these tests, and its public key.
const (
	privateKey = "4nwcX7VzXW6Wu43UOyYV3etNyyXEDcH_3EKUbzr-1zQ"
	publicKey  = "BIyGuP_YJAaEq-dIhdGX-Si72fmOpkyO000ppBHcTmaoE0vs8DsWqWogNisZjw3REQm57MdNFl2iEBnsbABEn5w"
	subject    = "mailto:herald@example.com"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, baseURL string) {
			msg.Devices = []string{sandbox.Subscription(baseURL, fmt.Sprintf("secretbrowser-%04d", n))}
		},
		Success: channeltest.Answer{
			Status: http.StatusCreated, Header: map[string]string{"Location": "https://push.example.com/message/secretmessage"},
		},
		EmptySuccess: true,
		Exceptions:   map[int]notification.FailureClass{http.StatusForbidden: notification.Refused}, // the subscription is for another key
		Secrets:      []string{privateKey, "secretbrowser", "secretmessage", subject},
	})
}

// newSender allows the loopback host of baseURL.
func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	base, err := url.Parse(baseURL)
	require.NoError(t, err)
	return channeltest.NewSender(t,
		&webpush.Settings{PrivateKey: privateKey, Subject: subject, AllowedHosts: []string{base.Host, "*.push.example.com"}}, timeout)
}

// message returns a message to browsers at a push service.
func message(address string, browsers ...string) notification.Message {
	msg := channeltest.Message(1)
	for _, id := range browsers {
		msg.Devices = append(msg.Devices, sandbox.Subscription(address, id))
	}
	return msg
}

// A subscription that has ended is dead. The other browsers still get the message.
func TestEndedSubscriptions(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		answers map[string]int // by browser
		class   notification.FailureClass
		dead    []string
	}{
		"gone":              {map[string]int{"a": 410}, notification.Refused, []string{"a"}},
		"not found":         {map[string]int{"a": 404}, notification.Refused, []string{"a"}},
		"too large":         {map[string]int{"a": 413}, notification.Refused, nil},
		"another key":       {map[string]int{"a": 403}, notification.Refused, []string{"a"}},
		"our signature":     {map[string]int{"a": 401}, notification.Account, nil},
		"busy":              {map[string]int{"a": 429}, notification.Busy, nil},
		"one takes it":      {map[string]int{"a": 410, "b": 201, "c": 503}, "", []string{"a"}},
		"another may do so": {map[string]int{"a": 410, "b": 503}, notification.Busy, []string{"a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.answers[path.Base(r.URL.Path)])
			}))
			t.Cleanup(service.Close)
			msg := message(service.URL, slices.Sorted(maps.Keys(tt.answers))...)
			answer, err := newSender(t, service.URL, time.Minute).Send(t.Context(), msg)

			require.Equal(t, message(service.URL, tt.dead...).Devices, answer.DeadDevices)
			if tt.class == "" {
				require.NoError(t, err)
				return
			}
			failure := channeltest.RequireFailure(t, err, msg, []string{service.URL})
			require.Equal(t, tt.class, failure.Class)
			require.Equal(t, tt.class == notification.Refused && len(tt.dead) > 0, failure.RetryAfter == 0,
				"only an ended subscription needs no wait")
		})
	}
}

// The headers are as in RFC 8030. The sandbox decrypts the text, with the browser's key.
func TestSendComposes(t *testing.T) {
	t.Parallel()

	const forever, topic = "2419200", "212ef80fba195e081dcbe6a67e06b949"
	tests := map[string]struct {
		change func(*notification.Message)
		want   map[string]string
		tag    string
	}{
		"plain":   {func(*notification.Message) {}, map[string]string{"TTL": forever, "Topic": "", "Urgency": ""}, "evt-1-staff1-TEST"},
		"high":    {func(m *notification.Message) { m.Priority = notification.High }, map[string]string{"Urgency": "high"}, "evt-1-staff1-TEST"},
		"low":     {func(m *notification.Message) { m.Priority = notification.Low }, map[string]string{"Urgency": "low"}, "evt-1-staff1-TEST"},
		"expired": {func(m *notification.Message) { m.SendBy = time.Now() }, map[string]string{"TTL": "0"}, "evt-1-staff1-TEST"},
		"late": {func(m *notification.Message) { m.SendBy = time.Now().Add(time.Hour * 24 * 60) }, map[string]string{"TTL": forever},
			"evt-1-staff1-TEST"},
		"replaces": {func(m *notification.Message) { m.EventType, m.CollapseKey = "ORDER_STATUS", "order-7" },
			map[string]string{"Topic": topic}, topic},
		"url": {func(m *notification.Message) { m.URL = "/orders/7" }, map[string]string{"TTL": forever}, "evt-1-staff1-TEST"},
		"longest": {func(m *notification.Message) {
			m.Body = strings.Repeat("x", 3993-len(`{"delivery_id":"","title":"","body":"","tag":""}`)-2*len(m.DeliveryID)-len(m.Title))
		},
			map[string]string{"Content-Encoding": "aes128gcm", "Content-Length": "4096"}, "evt-1-staff1-TEST"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var got http.Header
			var text string
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Clone()
				got.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
				body, _ := io.ReadAll(r.Body)
				plain, err := sandbox.Decrypt("browser", body)
				if text = string(plain); err == nil {
					w.WriteHeader(http.StatusCreated)
				}
			}))
			t.Cleanup(service.Close)
			msg := message(service.URL, "browser")
			tt.change(&msg)
			_, err := newSender(t, service.URL, time.Minute).Send(t.Context(), msg)
			require.NoError(t, err)

			for header, value := range tt.want {
				require.Equal(t, value, got.Get(header), header)
			}
			require.Contains(t, got.Get("Authorization"), "k="+publicKey)
			fields := map[string]string{"delivery_id": msg.DeliveryID, "title": msg.Title, "body": msg.Body, "tag": tt.tag}
			if msg.URL != "" {
				fields["url"] = msg.URL
			}
			want, err := json.Marshal(fields)
			require.NoError(t, err)
			require.JSONEq(t, string(want), text)
		})
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	sender := newSender(t, channeltest.Nowhere, time.Minute)
	at := func(address string) func(m *notification.Message) {
		return func(m *notification.Message) { m.Devices = message(address, "browser").Devices }
	}
	const other = "the browser's push service is not in WEBPUSH_ALLOWED_HOSTS"
	channeltest.RunRefusals(t, sender, "webpush", message(channeltest.Nowhere, "browser"), map[string]channeltest.Refusal{
		"no device":        {Change: func(m *notification.Message) { m.Devices = nil }, Code: "no working device"},
		"too big":          {Change: func(m *notification.Message) { m.Body = strings.Repeat("x", 3993) }, Code: "message too big"},
		"another host":     {Change: at("https://metadata.internal"), Code: other},
		"another port":     {Change: at("http://127.0.0.1:2"), Code: other},
		"host in front":    {Change: at("https://a.push.example.com.evil.example"), Code: other},
		"suffix alone":     {Change: at("https://evilpush.example.com"), Code: other},
		"port of a suffix": {Change: at("https://a.push.example.com:22"), Code: other},
	})
	for _, invalid := range []string{
		"{}", "{", message("http://10.0.0.1", "browser").Devices[0], message("https://user@a.push.example.com", "browser").Devices[0],
	} {
		msg := message(channeltest.Nowhere)
		msg.Devices = []string{invalid}
		answer, err := sender.Send(t.Context(), msg)
		require.EqualError(t, err, "webpush refused: no working device")
		require.Equal(t, []string{invalid}, answer.DeadDevices)
	}
}

func TestSettings(t *testing.T) {
	const contact = "must be mailto: with an address, or an https URL"
	channeltest.RunSettings(t, channeltest.Environment{
		New: func() channeltest.SenderSettings { return &webpush.Settings{} },
		Whole: map[string]string{
			"WEBPUSH_VAPID_PRIVATE_KEY": privateKey, "WEBPUSH_VAPID_PUBLIC_KEY": publicKey, "WEBPUSH_SUBJECT": subject,
			"WEBPUSH_ALLOWED_HOSTS": "127.0.0.1:9090, *.Push.example.com",
		},
		Off:   "WEBPUSH_VAPID_PRIVATE_KEY",
		Needs: []string{"WEBPUSH_VAPID_PRIVATE_KEY", "WEBPUSH_SUBJECT"},
		Right: []map[string]string{
			{},
			{"WEBPUSH_VAPID_PUBLIC_KEY": publicKey}, // of a gateway
			{"WEBPUSH_VAPID_PRIVATE_KEY": privateKey, "WEBPUSH_SUBJECT": "https://example.com/contact"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "WEBPUSH_VAPID_PRIVATE_KEY", Value: "hunter2", Want: "must be a private key: make one with `starter secret vapid`"},
			{Key: "WEBPUSH_VAPID_PUBLIC_KEY", Value: "hunter2", Want: "is not the public key of WEBPUSH_VAPID_PRIVATE_KEY"},
			{Key: "WEBPUSH_SUBJECT", Value: "", Want: "is not set, but WEBPUSH_VAPID_PRIVATE_KEY is"},
			{Key: "WEBPUSH_SUBJECT", Value: "herald@example.com", Want: contact},
			{Key: "WEBPUSH_SUBJECT", Value: "https:", Want: contact},
			{Key: "WEBPUSH_SUBJECT", Value: "ftp://example.com", Want: contact},
			{Key: "WEBPUSH_ALLOWED_HOSTS", Value: "https://fcm.googleapis.com", Want: "must be hosts, or host:port, with commas between them"},
		},
	})
}
