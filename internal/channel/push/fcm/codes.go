package fcm

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"herald/internal/notification"
)

// quotaWait is the shortest wait in FCM's documentation after a quota is used up.
// https://firebase.google.com/docs/cloud-messaging/scale-fcm#handling-retries
const quotaWait = time.Minute

const (
	unregistered    = "UNREGISTERED"
	invalidArgument = "INVALID_ARGUMENT"
)

// meaning classifies FCM's codes, which are more exact than the HTTP status. Errors do not show
// unknown codes, because these could be any text of the answer.
// https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
var meaning = map[string]notification.FailureClass{
	unregistered:             notification.Refused,
	invalidArgument:          notification.Refused,
	"SENDER_ID_MISMATCH":     notification.Refused,
	"QUOTA_EXCEEDED":         notification.Busy,
	"RESOURCE_EXHAUSTED":     notification.Busy,
	"THIRD_PARTY_AUTH_ERROR": notification.Account,
	"UNAUTHENTICATED":        notification.Account,
	"PERMISSION_DENIED":      notification.Account,
	"UNAVAILABLE":            notification.Ambiguous,
	"INTERNAL":               notification.Ambiguous,
}

// fcmError is the JSON of Google's errors.
type fcmError struct {
	Error struct {
		Status  string
		Message string
		Details []struct {
			Type            string `json:"@type"`
			ErrorCode       string // FCM's code
			FieldViolations []struct{ Field string }
		}
	}
}

// refine adds FCM's code to failure, and reports whether the device is dead. A code may change
// the class of a failure, except Ambiguous.
func refine(failure *notification.ProviderError, body []byte) (dead bool) {
	var answer fcmError
	if failure.Status < http.StatusBadRequest || json.Unmarshal(body, &answer) != nil {
		return false // not in the form of Google's errors
	}
	class, known := meaning[answer.code()]
	if !known {
		return false
	}
	failure.Code = answer.code()
	if failure.Class != notification.Ambiguous {
		failure.Class = class
	}
	if failure.Status == http.StatusTooManyRequests {
		failure.RetryAfter = max(failure.RetryAfter, quotaWait)
	}
	return failure.Class == notification.Refused && answer.blamesDevice()
}

// code returns FCM's code, or Google's if there is none.
func (e *fcmError) code() string {
	for _, detail := range e.Error.Details {
		if strings.HasSuffix(detail.Type, "/google.firebase.fcm.v1.FcmError") {
			return detail.ErrorCode
		}
	}
	return e.Error.Status
}

// blamesDevice reports whether the device's token is wrong, rather than our message. Some answers
// name the field; others mention it only in their text.
func (e *fcmError) blamesDevice() bool {
	switch e.code() {
	case unregistered:
		return true
	case invalidArgument:
		for _, detail := range e.Error.Details {
			for _, violation := range detail.FieldViolations {
				if violation.Field == "message.token" {
					return true
				}
			}
		}
		return strings.Contains(strings.ToLower(e.Error.Message), "registration token")
	default:
		return false
	}
}
