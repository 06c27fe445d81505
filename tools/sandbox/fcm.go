package sandbox

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"herald/internal/notification"
)

var fcm = provider{
	name: "FCM", channel: notification.Push, fault: notification.Push, route: "POST /v1/projects/{project}/messages:send",
	handle: handlePush, reject: rejectPush,
}

// fcmRequest is the part of a request that the sandbox reads.
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
type fcmRequest struct {
	Message fcmMessage `json:"message"`
}

type fcmMessage struct {
	Token        string            `json:"token"`
	Notification fcmNotification   `json:"notification"`
	Data         map[string]string `json:"data"`
	Android      struct {
		Priority    string `json:"priority"`
		CollapseKey string `json:"collapse_key"`
	} `json:"android"`
	APNS *struct {
		Headers map[string]string `json:"headers"`
	} `json:"apns"`
}

type fcmNotification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Image string `json:"image"`
}

// googleError is an error in Google's format.
// https://cloud.google.com/apis/design/errors#http_mapping
type googleError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
}

// handlePush answers POST /v1/projects/{project}/messages:send like Google.
func handlePush(r *http.Request, body []byte, _ bool) (Entry, response) {
	var request fcmRequest
	err := json.Unmarshal(body, &request)
	push := request.Message
	entry := push.entry()
	switch {
	case !hasBearer(r):
		return entry, rejectPush(http.StatusUnauthorized)
	case !hasMediaType(r, "application/json") || err != nil:
		return entry, rejectPush(http.StatusBadRequest)
	}
	if field, text := push.invalidField(); field != "" {
		return entry, invalidArgument(field, text)
	}
	if strings.HasPrefix(push.Token, "dead") {
		unregistered := googleError{Code: http.StatusNotFound, Message: "Requested entity was not found.", Status: "NOT_FOUND"}
		return entry, googleResponse(unregistered, fcmDetail("UNREGISTERED"))
	}
	return entry, reply(http.StatusOK, map[string]string{
		"name": "projects/" + r.PathValue("project") + "/messages/" + rand.Text(),
	})
}

// entry returns the text that the reader sees: the notification, or the app's data without one.
func (m *fcmMessage) entry() Entry {
	entry := Entry{
		DeliveryID: m.Data["delivery_id"], Recipient: m.Token, Title: m.Notification.Title, Body: m.Notification.Body,
		CollapseKey: m.Android.CollapseKey,
	}
	if m.Notification == (fcmNotification{}) {
		entry.Title, entry.Body = m.Data["title"], m.Data["body"]
	}
	return entry
}

// rejectPush returns Google's response to a request that it rejects as a whole.
func rejectPush(status int) response {
	refusal := googleError{Code: status, Message: http.StatusText(status), Status: cmp.Or(googleStatus[status], "UNKNOWN")}
	switch status {
	case http.StatusUnauthorized:
		refusal.Message = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid " +
			"authentication credential."
	case http.StatusBadRequest:
		refusal.Message = "Invalid JSON payload received."
	case http.StatusTooManyRequests:
		return googleResponse(refusal, fcmDetail("QUOTA_EXCEEDED"))
	}
	return googleResponse(refusal)
}

// invalidArgument returns Google's response to a message with an invalid field.
func invalidArgument(field, text string) response {
	refusal := googleError{Code: http.StatusBadRequest, Message: text, Status: "INVALID_ARGUMENT"}
	return googleResponse(refusal, fcmDetail("INVALID_ARGUMENT"), map[string]any{
		"@type":           "type.googleapis.com/google.rpc.BadRequest",
		"fieldViolations": []map[string]string{{"field": field, "description": text}},
	})
}

func googleResponse(refusal googleError, details ...any) response {
	refusal.Details = details
	return reply(refusal.Code, map[string]googleError{"error": refusal})
}

// fcmDetail returns the error detail with FCM's code. Google's status comes with it.
func fcmDetail(code string) any {
	return map[string]string{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}
}

// googleStatus maps an HTTP status to Google's name for it.
var googleStatus = map[int]string{
	http.StatusBadRequest:            "INVALID_ARGUMENT",
	http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
	http.StatusUnauthorized:          "UNAUTHENTICATED",
	http.StatusForbidden:             "PERMISSION_DENIED",
	http.StatusNotFound:              "NOT_FOUND",
	http.StatusTooManyRequests:       "RESOURCE_EXHAUSTED",
	http.StatusServiceUnavailable:    "UNAVAILABLE",
	http.StatusGatewayTimeout:        "DEADLINE_EXCEEDED",
	http.StatusInternalServerError:   "INTERNAL",
}

const (
	maxPush       = 4096 // bytes of notification and data; FCM's limit
	maxCollapseID = 64   // bytes; Apple's limit
)

// invalidField returns the first field for which FCM would reject the message, and the
// reason. Both are empty for a valid message.
func (m *fcmMessage) invalidField() (field, text string) {
	if m.Token == "" {
		return "message", "Recipient of the message is not set."
	}
	if strings.HasPrefix(m.Token, "invalid") || strings.ContainsAny(m.Token, " \t\r\n") {
		return "message.token", "The registration token is not a valid FCM registration token"
	}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		if isReserved(key) {
			return "message.data", fmt.Sprintf("Invalid data payload key: %s", key)
		}
	}
	if m.size() > maxPush {
		return "message", fmt.Sprintf("Message is too big: notification and data have at most %d bytes.", maxPush)
	}
	if !slices.Contains([]string{"", "NORMAL", "HIGH"}, strings.ToUpper(m.Android.Priority)) {
		return "message.android.priority", "Invalid value at 'message.android.priority'."
	}
	if m.APNS != nil && len(m.APNS.Headers["apns-collapse-id"]) > maxCollapseID {
		return "message.apns.headers", fmt.Sprintf("apns-collapse-id has at most %d bytes.", maxCollapseID)
	}
	return "", ""
}

// isReserved reports whether FCM reserves the key.
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
func isReserved(key string) bool {
	return key == "from" || strings.HasPrefix(key, "gcm") || strings.HasPrefix(key, "google")
}

// size returns the size of the message as FCM counts it, in bytes.
func (m *fcmMessage) size() int {
	return len(m.Notification.Title) + len(m.Notification.Body) + len(m.Notification.Image) + sizeOf(m.Data)
}
