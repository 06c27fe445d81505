package fcm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/push/fcm"
	"herald/internal/config/environment"
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
		Exceptions: map[int]notification.FailureClass{http.StatusNotFound: notification.Account}, // a device only with FCM's code
	})
}

// Firebase's SDK introduces itself with the version in go.mod.
func TestSDKVersion(t *testing.T) {
	t.Parallel()

	var client string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client = r.Header.Get("X-Firebase-Client")
		_, _ = io.WriteString(w, accepted)
	}))
	t.Cleanup(server.Close)
	msg := channeltest.Message(1)
	msg.Devices = []string{"d"}
	_, err := newSender(t, server.URL, time.Minute).Send(t.Context(), msg)
	require.NoError(t, err)

	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "firebase.google.com/go/v4").Output()
	require.NoError(t, err)
	require.Equal(t, "fire-admin-go/"+strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), client)
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
	Webpush struct {
		Headers    map[string]string
		FCMOptions struct{ Link string } `json:"fcm_options"`
	}
	APNS struct {
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

// answer is FCM's answer for one device.
type answer struct {
	status int
	body   string
}

func refusal(status int, google, fcm, text string) answer {
	return answer{status, fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[
		{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":%q}]}}`, status, text, google, fcm)}
}

var (
	ok           = answer{200, accepted}
	unregistered = refusal(404, "NOT_FOUND", "UNREGISTERED", "Requested entity was not found.")
	badToken     = refusal(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token")
	badField     = answer{400, `{"error":{"status":"INVALID_ARGUMENT","details":[
		{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token"}]}]}}`}
	badPayload  = refusal(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "Message is too big")
	badSender   = refusal(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch")
	badAccount  = refusal(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", "no APNs key")
	noAccess    = answer{403, `{"error":{"status":"PERMISSION_DENIED"}}`}
	quota       = refusal(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "quota")
	unavailable = refusal(503, "UNAVAILABLE", "UNAVAILABLE", "try later")
	internal    = refusal(500, "INTERNAL", "INTERNAL", "oops")
	unknownCode = refusal(400, "", "something with ada@example.com", "oops")
)

// firebase gives each device its planned answer, and stores the sent messages.
type firebase struct {
	*httptest.Server
	mu   sync.Mutex
	sent []message
}

func newFCM(t *testing.T, answers map[string]answer) *firebase {
	t.Helper()
	f := &firebase{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, err := read(r, string(body))
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		f.mu.Lock()
		f.sent = append(f.sent, got)
		f.mu.Unlock()
		w.WriteHeader(answers[got.Token].status)
		_, _ = io.WriteString(w, answers[got.Token].body)
	}))
	t.Cleanup(f.Close)
	return f
}

// send sends one message to devices 0, 1, … with these answers.
func send(t *testing.T, answers ...answer) (notification.Answer, error) {
	t.Helper()
	byDevice := map[string]answer{}
	msg := channeltest.Message(1)
	for i, a := range answers {
		device := fmt.Sprint(i)
		byDevice[device] = a
		msg.Devices = append(msg.Devices, device)
	}
	f := newFCM(t, byDevice)
	receipt, err := newSender(t, f.URL, time.Minute).Send(t.Context(), msg)
	require.Len(t, f.sent, len(answers), "one message each")
	return receipt, err
}

// deliver sends a message to one device, and returns FCM's message.
func deliver(t *testing.T, msg notification.Message) message {
	t.Helper()
	msg.Devices = []string{"d"}
	f := newFCM(t, map[string]answer{"d": ok})
	_, err := newSender(t, f.URL, time.Minute).Send(t.Context(), msg)
	require.NoError(t, err)
	require.Len(t, f.sent, 1)
	return f.sent[0]
}

func TestSendData(t *testing.T) {
	t.Parallel()

	msg := channeltest.Message(1)
	msg.PushKind = notification.PushData
	sent := deliver(t, msg)
	require.Nil(t, sent.Notification)
	require.Equal(t, map[string]string{"delivery_id": msg.DeliveryID, "title": msg.Title, "body": msg.Body}, sent.Data)
	require.Equal(t, "high", sent.Android.Priority)
	require.Empty(t, sent.Android.CollapseKey, "with a collapse key, FCM keeps only four messages")
	require.Equal(t, map[string]string{"apns-push-type": "background", "apns-priority": "5"}, sent.APNS.Headers)
	require.Equal(t, 1, sent.APNS.Payload.APS.ContentAvailable)
}

// The app gets each url. FCM opens those with https in browsers itself.
func TestSendURL(t *testing.T) {
	t.Parallel()

	for _, kind := range []notification.PushKind{notification.PushNotification, notification.PushData} {
		for url, link := range map[string]string{"": "", "/orders/7": "", "https://shop.example/o/7": "https://shop.example/o/7"} {
			msg := channeltest.Message(1)
			msg.PushKind, msg.URL = kind, url
			sent := deliver(t, msg)
			require.Equal(t, url, sent.Data["url"])
			require.Equal(t, link, sent.Webpush.FCMOptions.Link)
		}
	}
}

func TestSendToOneDevice(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		answer answer
		class  notification.FailureClass
		code   string
		wait   time.Duration
		dead   bool
		theirs bool // says nothing about other devices
	}{
		"unregistered":   {answer: unregistered, class: notification.Refused, code: "no working device", dead: true},
		"bad token":      {answer: badToken, class: notification.Refused, code: "no working device", dead: true},
		"bad field":      {answer: badField, class: notification.Refused, code: "no working device", dead: true},
		"bad payload":    {answer: badPayload, class: notification.Refused, code: "INVALID_ARGUMENT"},
		"bad sender":     {answer: badSender, class: notification.Account, code: "SENDER_ID_MISMATCH"},
		"no APNs key":    {answer: badAccount, class: notification.Account, code: "THIRD_PARTY_AUTH_ERROR", theirs: true},
		"no access":      {answer: noAccess, class: notification.Account, code: "PERMISSION_DENIED"},
		"quota":          {answer: quota, class: notification.Busy, code: "QUOTA_EXCEEDED", wait: time.Minute},
		"unavailable":    {answer: unavailable, class: notification.Unavailable, code: "UNAVAILABLE"},
		"internal":       {answer: internal, class: notification.Ambiguous, code: "INTERNAL"},
		"unknown code":   {answer: unknownCode, class: notification.Refused},
		"404 of a proxy": {answer: answer{404, "not found"}, class: notification.Account},
		"no project":     {answer: answer{404, `{"error":{"status":"NOT_FOUND"}}`}, class: notification.Account, code: "NOT_FOUND"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			receipt, err := send(t, tt.answer)
			require.Equal(t, &notification.ProviderError{
				Provider: "fcm", Class: tt.class, Status: tt.answer.status, Code: tt.code, RetryAfter: tt.wait, Theirs: tt.theirs,
			}, err)
			require.Equal(t, tt.answer.status, receipt.Status)
			require.Equal(t, tt.dead, len(receipt.DeadDevices) == 1)
		})
	}
}

func TestSendToManyDevices(t *testing.T) {
	t.Parallel()

	const sent = "" // no failure
	tenDead := strings.Split("0123456789", "")
	tests := map[string]struct {
		answers []answer
		class   notification.FailureClass
		dead    []string
	}{
		"all take it":                {answers: []answer{ok, ok, ok}, class: sent},
		"one takes it":               {answers: []answer{unavailable, ok, quota}, class: sent},
		"one takes it, two are dead": {answers: []answer{unregistered, ok, badToken}, class: sent, dead: []string{"0", "2"}},
		"more than at once":          {answers: append(slices.Repeat([]answer{unregistered}, 10), ok), class: sent, dead: tenDead},
		"all are dead":               {answers: []answer{unregistered, badToken}, class: notification.Refused, dead: []string{"0", "1"}},
		"dead and busy":              {answers: []answer{unregistered, quota}, class: notification.Busy, dead: []string{"0"}},
		"busy before ambiguous":      {answers: []answer{internal, quota}, class: notification.Busy},
		"ambiguous before account":   {answers: []answer{badAccount, internal}, class: notification.Ambiguous},
		"account before refused":     {answers: []answer{badPayload, badAccount, badPayload}, class: notification.Account},
		"dead and refused":           {answers: []answer{badPayload, unregistered}, class: notification.Refused, dead: []string{"1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			receipt, err := send(t, tt.answers...)
			require.Equal(t, tt.dead, receipt.DeadDevices)
			if tt.class == sent {
				require.NoError(t, err)
				require.Equal(t, "projects/demo/messages/0:1500415314455276", receipt.ProviderID)
				require.Equal(t, 200, receipt.Status)
				return
			}
			var failure *notification.ProviderError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.class, failure.Class)
			require.Empty(t, receipt.ProviderID)
		})
	}
}

// A token of another project is dead if FCM takes messages of our project. Until then, our project may be
// the wrong one.
func TestSenderMismatch(t *testing.T) {
	t.Parallel()

	f := newFCM(t, map[string]answer{"foreign": badSender, "ours": ok})
	sender := newSender(t, f.URL, time.Minute)
	for _, tt := range []struct {
		device string
		class  notification.FailureClass
		dead   []string
	}{
		{device: "foreign", class: notification.Account},
		{device: "ours"},
		{device: "foreign", class: notification.Refused, dead: []string{"foreign"}},
	} {
		msg := channeltest.Message(1)
		msg.Devices = []string{tt.device}
		answer, err := sender.Send(t.Context(), msg)
		require.Equal(t, tt.dead, answer.DeadDevices)
		if tt.class == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, tt.class, channeltest.RequireFailure(t, err, msg, nil).Class)
	}
}

// Google, Apple and browsers drop a message that they cannot deliver before it expires.
func TestSendSetsTheExpiry(t *testing.T) {
	t.Parallel()

	for _, kind := range []notification.PushKind{notification.PushNotification, notification.PushData} {
		msg := channeltest.Message(1)
		msg.PushKind, msg.ExpiresAt, msg.SendBy = kind, time.Unix(1_800_000_000, 5), time.Now().Add(60*24*time.Hour)
		got := deliver(t, msg)
		require.Equal(t, "2419200s", got.Android.TTL)
		require.Equal(t, "1800000000", got.APNS.Headers["apns-expiration"])
		require.Equal(t, "2419200", got.Webpush.Headers["TTL"])
	}
}

func TestSendComposes(t *testing.T) {
	t.Parallel()

	for id, appleID := range map[string]string{
		"evt-1-staff10-PUSH":    "evt-1-staff10-PUSH",
		strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0",
	} {
		msg := channeltest.Message(1)
		msg.DeliveryID = id
		got := deliver(t, msg)
		require.Equal(t, msg.Title, got.Notification.Title)
		require.Equal(t, msg.Body, got.Notification.Body)
		require.Equal(t, map[string]string{"delivery_id": id}, got.Data)
		require.Equal(t, id, got.Android.CollapseKey)
		require.Equal(t, id, got.Android.Notification.Tag)
		require.Equal(t, appleID, got.APNS.Headers["apns-collapse-id"])
	}
}

// A message replaces older messages with its type and key, on the phone and on the way to it. The
// collapse id does not reveal the key.
func TestSendReplacesOlder(t *testing.T) {
	t.Parallel()

	const id = "212ef80fba195e081dcbe6a67e06b949"
	for _, kind := range []notification.PushKind{notification.PushNotification, notification.PushData} {
		msg := channeltest.Message(1)
		msg.PushKind, msg.EventType, msg.CollapseKey = kind, "ORDER_STATUS", "order-7"
		got := deliver(t, msg)
		require.Equal(t, id, got.Android.CollapseKey)
		require.Equal(t, id, got.APNS.Headers["apns-collapse-id"])
		require.Equal(t, id, got.Webpush.Headers["Topic"])
		require.Equal(t, id, got.Data["collapse_id"])
		if kind == notification.PushNotification {
			require.Equal(t, id, got.Android.Notification.Tag)
		}
		msg.CollapseKey = strings.Repeat("ä", 75)
		other := deliver(t, msg).Android.CollapseKey
		require.Len(t, other, 32)
		require.NotEqual(t, id, other)
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	f := newFCM(t, map[string]answer{"d": ok})
	sender := newSender(t, f.URL, time.Minute)
	for kind, fixed := range map[notification.PushKind]string{
		notification.PushNotification: "delivery_id", notification.PushData: "delivery_id" + "title" + "body",
	} {
		msg := toOneDevice()
		msg.PushKind = kind
		msg.Body = strings.Repeat("x", 4096-len(fixed+msg.DeliveryID+msg.Title))
		_, err := sender.Send(t.Context(), msg)
		require.NoError(t, err, "4096 bytes")

		channeltest.RunRefusals(t, sender, "fcm", msg, map[string]channeltest.Refusal{
			"too big":   {Change: func(m *notification.Message) { m.Body += "x" }, Code: "message too big"},
			"no device": {Change: func(m *notification.Message) { m.Devices = nil }, Code: "no working device"},
		})
	}
	require.Len(t, f.sent, 2)
}

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

	for _, values := range []map[string]string{
		{"FCM_PROJECT_ID": "p"}, {"FCM_PROJECT_ID": "p", "FCM_BASE_URL": "https://eu.fcm.googleapis.com/v1"},
	} {
		r := environment.NewReader(values)
		new(fcm.Settings).Read(r)
		require.EqualError(t, r.Err(), "settings: GOOGLE_APPLICATION_CREDENTIALS is not set, but FCM_PROJECT_ID is")
	}
	settings := fcm.Settings{ProjectID: "p", CredentialsFile: "no such file"}
	_, err := settings.NewSender(channel.Process{})
	require.ErrorContains(t, err, "fcm: read credentials")
}
