package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func pushCall(message any) call {
	body, _ := json.Marshal(object{"message": message})
	return call{
		method: http.MethodPost, path: "/v1/projects/demo/messages:send", authorization: "Bearer token", contentType: "application/json",
		body: string(body),
	}
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

func TestPush(t *testing.T) {
	t.Parallel()

	good := pushCall(goodPush())
	unauthorized, untyped, broken := good, good, good
	unauthorized.authorization, untyped.contentType, broken.body = "", "text/plain", `{"message":`
	data := func(key string, value any) call { return pushCall(pushWith("data", object{key: value})) }
	const invalid = "INVALID_ARGUMENT"
	const limit = 4096 - len("x") - len("New reservationTable for 4")
	requireAnswers(t, map[string]answered{
		"at the limit":         {data("x", strings.Repeat("a", limit)), 200, `^\{"name":"projects/demo/messages/[A-Z0-9]+"\}$`},
		"no authorization":     {unauthorized, 401, google(401, "UNAUTHENTICATED", "", "")},
		"not declared as JSON": {untyped, 400, google(400, invalid, "", "")},
		"broken JSON":          {broken, 400, google(400, invalid, "", "")},
		"no message":           {pushCall(nil), 400, google(400, invalid, invalid, "message")},
		"no token":             {pushCall(pushWith("token", "")), 400, google(400, invalid, invalid, "message")},
		"malformed token":      {pushCall(pushWith("token", "a b")), 400, google(400, invalid, invalid, "message.token")},
		"invalid token":        {pushCall(pushWith("token", "invalid-7")), 400, google(400, invalid, invalid, "message.token")},
		"dead token":           {pushCall(pushWith("token", "dead-7")), 404, google(404, "NOT_FOUND", "UNREGISTERED", "")},
		"data of numbers":      {data("n", 1), 400, google(400, invalid, "", "")},
		"reserved from":        {data("from", "x"), 400, google(400, invalid, invalid, "message.data")},
		"reserved gcm":         {data("gcm.x", "x"), 400, google(400, invalid, invalid, "message.data")},
		"reserved google":      {data("google_x", "x"), 400, google(400, invalid, invalid, "message.data")},
		"too big":              {data("x", strings.Repeat("a", limit+1)), 400, google(400, invalid, invalid, "message")},
		"no priority": {pushCall(pushWith("android", object{"priority": "urgent"})), 400,
			google(400, invalid, invalid, "message.android.priority")},
		"long collapse id": {pushCall(pushWith("apns", object{"headers": object{"apns-collapse-id": strings.Repeat("a", 65)}})), 400,
			google(400, invalid, invalid, "message.apns.headers")},
	})
}

// google returns the form of Google's error, with FCM's code and the field; empty: none.
func google(code int, status, errorCode, field string) string {
	details := ""
	if errorCode != "" {
		details = `,"details":\[\{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"` + errorCode + `"\}`
		if field != "" {
			details += `,\{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":\[\{"description":"[^"]+","field":"` + field +
				`"\}\]\}`
		}
		details += `\]`
	}
	return fmt.Sprintf(`^\{"error":\{"code":%d,"message":".+","status":"%s"%s\}\}$`, code, status, details)
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
