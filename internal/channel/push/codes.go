package push

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"herald/internal/notification"
)

// quotaWait is the least that FCM's documentation asks for when a quota is
// used up and the answer says nothing else.
// https://firebase.google.com/docs/cloud-messaging/scale-fcm#handling-retries
const quotaWait = time.Minute

const (
	unregistered    = "UNREGISTERED"
	invalidArgument = "INVALID_ARGUMENT"
)

// meaning is what FCM's codes say beyond the HTTP status they come with. Codes
// that are not in it are not repeated to anybody: they are the answer's text.
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

// fcmError is Google's form of an error.
type fcmError struct {
	Error struct {
		Status  string
		Message string
		Details []struct {
			Type            string `json:"@type"`
			ErrorCode       string // of FCM
			FieldViolations []struct{ Field string }
		}
	}
}

// refine adds FCM's own code to failure, and says whether the device is dead.
// The status decides: a code tells refusals apart, never whether there was a
// usable answer.
func refine(failure *notification.ProviderError, body []byte) (dead bool) {
	var answer fcmError
	if failure.Status < http.StatusBadRequest || json.Unmarshal(body, &answer) != nil {
		return false // no error of FCM, or none in Google's form
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

// code is FCM's code, or where there is none Google's.
func (e *fcmError) code() string {
	for _, detail := range e.Error.Details {
		if strings.HasSuffix(detail.Type, "/google.firebase.fcm.v1.FcmError") {
			return detail.ErrorCode
		}
	}
	return e.Error.Status
}

// blamesDevice tells an argument that is invalid because of the device's token
// from one that is our payload's fault. Some answers name the field, others
// only say it.
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
