package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"herald/internal/notification"
)

var fcm = provider{channel: notification.Push, judge: judgePush, refuse: refusePush}

// fcmRequest is what the sandbox reads of a request.
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
type fcmRequest struct {
	Message fcmMessage `json:"message"`
}

type fcmMessage struct {
	Token        string            `json:"token"`
	Notification fcmNotification   `json:"notification"`
	Data         map[string]string `json:"data"`
	Android      *struct {
		Priority string `json:"priority"`
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

// googleError is Google's form of an error.
// https://cloud.google.com/apis/design/errors#http_mapping
type googleError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
}

// judgePush answers as POST /v1/projects/{project}/messages:send.
func judgePush(r *http.Request, body []byte) (message, answer) {
	var request fcmRequest
	err := json.Unmarshal(body, &request)
	push := request.Message
	msg := push.message()
	switch {
	case !hasBearer(r):
		return msg, refusePush(http.StatusUnauthorized)
	case !hasMediaType(r, "application/json") || err != nil:
		return msg, refusePush(http.StatusBadRequest)
	}
	if field, text := push.flaw(); field != "" {
		return msg, invalidPush(field, text)
	}
	if strings.HasPrefix(push.Token, "dead") {
		gone := googleError{Code: http.StatusNotFound, Message: "Requested entity was not found.", Status: "NOT_FOUND"}
		return msg, sayGoogle(gone, fcmDetail("UNREGISTERED"))
	}
	return msg, reply(http.StatusOK, map[string]string{
		"name": "projects/" + r.PathValue("project") + "/messages/" + rand.Text(),
	})
}

// message shows what a reader sees: the notification, or without one what the app
// finds in data.
func (m *fcmMessage) message() message {
	msg := message{deliveryID: m.Data["delivery_id"], recipient: m.Token, title: m.Notification.Title, body: m.Notification.Body}
	if m.Notification == (fcmNotification{}) {
		msg.title, msg.body = m.Data["title"], m.Data["body"]
	}
	return msg
}

// refusePush is Google's answer to a request as a whole.
func refusePush(status int) answer {
	refusal := googleError{Code: status, Message: http.StatusText(status), Status: googleStatus(status)}
	switch status {
	case http.StatusUnauthorized:
		refusal.Message = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential."
	case http.StatusBadRequest:
		refusal.Message = "Invalid JSON payload received."
	case http.StatusTooManyRequests:
		return sayGoogle(refusal, fcmDetail("QUOTA_EXCEEDED"))
	}
	return sayGoogle(refusal)
}

// invalidPush refuses a message for one of its fields.
func invalidPush(field, text string) answer {
	refusal := googleError{Code: http.StatusBadRequest, Message: text, Status: "INVALID_ARGUMENT"}
	return sayGoogle(refusal, fcmDetail("INVALID_ARGUMENT"), map[string]any{
		"@type":           "type.googleapis.com/google.rpc.BadRequest",
		"fieldViolations": []map[string]string{{"field": field, "description": text}},
	})
}

func sayGoogle(refusal googleError, details ...any) answer {
	refusal.Details = details
	return reply(refusal.Code, map[string]googleError{"error": refusal})
}

// fcmDetail is FCM's own code, beside Google's.
func fcmDetail(code string) any {
	return map[string]string{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}
}

func googleStatus(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	default:
		return "UNKNOWN"
	}
}
