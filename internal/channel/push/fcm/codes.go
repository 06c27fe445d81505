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
	senderMismatch  = "SENDER_ID_MISMATCH"     // the token belongs to another project
	thirdPartyAuth  = "THIRD_PARTY_AUTH_ERROR" // our key for APNs or Web Push is wrong; other devices are not affected
)

// meaning classifies FCM's codes, which are more exact than the HTTP status. Errors do not show
// unknown codes, because these could be any text of the answer.
// https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
var meaning = map[string]notification.FailureClass{
	unregistered:         notification.Refused,
	invalidArgument:      notification.Refused,
	senderMismatch:       notification.Account,
	"NOT_FOUND":          notification.Account, // the project
	"QUOTA_EXCEEDED":     notification.Busy,
	"RESOURCE_EXHAUSTED": notification.Busy,
	thirdPartyAuth:       notification.Account,
	"UNAUTHENTICATED":    notification.Account,
	"PERMISSION_DENIED":  notification.Account,
	"UNAVAILABLE":        notification.Unavailable,
	"INTERNAL":           notification.Ambiguous,
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
// the class of a 4xx. A token of another project is dead if our project works. Otherwise our project may
// be wrong, and all tokens may be right.
func refine(failure *notification.ProviderError, body []byte, projectWorks bool) (dead bool) {
	var answer fcmError
	if failure.Status == http.StatusNotFound { // of a device only with FCM's code
		failure.Class = notification.Account
	}
	if failure.Status < http.StatusBadRequest || json.Unmarshal(body, &answer) != nil {
		return false // not in the form of Google's errors
	}
	class, known := meaning[answer.code()]
	if !known {
		return false
	}
	failure.Code = answer.code()
	if failure.Status < http.StatusInternalServerError {
		failure.Class = class
	}
	failure.Theirs = failure.Code == thirdPartyAuth
	if failure.Code == senderMismatch && projectWorks {
		failure.Class = notification.Refused
		return true
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
