package sandbox_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func pushCall(message any) call {
	body, _ := json.Marshal(object{"message": message})
	return call{method: http.MethodPost, path: "/v1/projects/demo/messages:send", authorization: "Bearer token", contentType: "application/json", body: string(body)}
}

func goodPush() object {
	return object{
		"token":        "device-1",
		"notification": object{"title": "New reservation", "body": "Table for 4"},
		"data":         object{"delivery_id": "evt-1-staff10-PUSH"},
		"android":      object{"collapse_key": "evt-1-staff10-PUSH", "priority": "high"},
		"apns":         object{"headers": object{"apns-collapse-id": "evt-1-staff10-PUSH"}},
	}
}

// pushWith returns a valid message with one field replaced.
func pushWith(field string, value any) object {
	message := goodPush()
	message[field] = value
	return message
}

func TestPushRefused(t *testing.T) {
	t.Parallel()

	good := pushCall(goodPush())
	unauthorized, untyped, broken := good, good, good
	unauthorized.authorization, untyped.contentType, broken.body = "", "text/plain", `{"message":`
	data := func(key string, value any) call { return pushCall(pushWith("data", object{key: value})) }
	const invalid = "INVALID_ARGUMENT"
	tests := []struct {
		name      string
		call      call
		status    int
		google    string // Google's status
		errorCode string // FCM's; empty: none
		field     string // in the error; empty: none
	}{
		{name: "no authorization", call: unauthorized, status: 401, google: "UNAUTHENTICATED"},
		{name: "not declared as JSON", call: untyped, status: 400, google: invalid},
		{name: "broken JSON", call: broken, status: 400, google: invalid},
		{name: "no message", call: pushCall(nil), status: 400, google: invalid, errorCode: invalid, field: "message"},
		{name: "no token", call: pushCall(pushWith("token", "")), status: 400, google: invalid, errorCode: invalid, field: "message"},
		{name: "malformed token", call: pushCall(pushWith("token", "a b")), status: 400, google: invalid, errorCode: invalid, field: "message.token"},
		{name: "invalid token", call: pushCall(pushWith("token", "invalid-7")), status: 400, google: invalid, errorCode: invalid, field: "message.token"},
		{name: "dead token", call: pushCall(pushWith("token", "dead-7")), status: 404, google: "NOT_FOUND", errorCode: "UNREGISTERED"},
		{name: "data of numbers", call: data("n", 1), status: 400, google: invalid},
		{name: "reserved from", call: data("from", "x"), status: 400, google: invalid, errorCode: invalid, field: "message.data"},
		{name: "reserved gcm", call: data("gcm.x", "x"), status: 400, google: invalid, errorCode: invalid, field: "message.data"},
		{name: "reserved google", call: data("google_x", "x"), status: 400, google: invalid, errorCode: invalid, field: "message.data"},
		{name: "too big", call: data("x", strings.Repeat("a", 4096-len("x")-len("New reservationTable for 4")+1)), status: 400, google: invalid, errorCode: invalid, field: "message"},
		{name: "no priority", call: pushCall(pushWith("android", object{"priority": "urgent"})), status: 400, google: invalid, errorCode: invalid, field: "message.android.priority"},
		{name: "long collapse id", call: pushCall(pushWith("apns", object{"headers": object{"apns-collapse-id": strings.Repeat("a", 65)}})), status: 400, google: invalid, errorCode: invalid, field: "message.apns.headers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, body := b.answer(t, tt.call)
			require.Equal(t, tt.status, status, body)

			answer := parseGoogle(t, body)
			require.Equal(t, tt.status, answer.Code)
			require.Equal(t, tt.google, answer.Status)
			require.NotEmpty(t, answer.Message)
			require.Equal(t, tt.errorCode, answer.errorCode())
			require.Equal(t, tt.field, answer.field())
			require.False(t, b.only(t).Accepted)
		})
	}
}

func TestPushOfData(t *testing.T) {
	t.Parallel()
	b := start(t)
	status, _, body := b.answer(t, pushCall(object{
		"token": "device-1", "data": object{"delivery_id": "evt-1-staff10-PUSH", "title": "New reservation", "body": "Table for 4"},
	}))
	require.Equal(t, http.StatusOK, status, body)
	line := b.only(t)
	require.Equal(t, "evt-1-staff10-PUSH", line.DeliveryID)
	require.Equal(t, "New reservation", line.Title)
	require.Equal(t, "Table for 4", line.Body)
	require.True(t, line.Accepted)
}

func TestPushAtTheLimit(t *testing.T) {
	t.Parallel()
	b := start(t)
	value := strings.Repeat("a", 4096-len("x")-len("New reservationTable for 4"))
	status, _, body := b.answer(t, pushCall(pushWith("data", object{"x": value})))
	require.Equal(t, http.StatusOK, status, body)
	require.Regexp(t, `^\{"name":"projects/demo/messages/[A-Z0-9]+"\}$`, body)
}

type googleAnswer struct {
	Code            int
	Status, Message string
	Details         []struct {
		Type            string `json:"@type"`
		ErrorCode       string
		FieldViolations []struct{ Field string }
	}
}

func parseGoogle(t *testing.T, body string) googleAnswer {
	t.Helper()
	var answer struct{ Error googleAnswer }
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	return answer.Error
}

func (a googleAnswer) errorCode() string {
	for _, detail := range a.Details {
		if detail.Type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" {
			return detail.ErrorCode
		}
	}
	return ""
}

func (a googleAnswer) field() string {
	for _, detail := range a.Details {
		if detail.Type == "type.googleapis.com/google.rpc.BadRequest" {
			return detail.FieldViolations[0].Field
		}
	}
	return ""
}
