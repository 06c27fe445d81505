package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"herald/internal/notification"
)

// twilio is the provider of text messages to the phones. If local, it accepts callback URLs
// that only this machine can reach.
func twilio(people *phones, local bool) provider {
	handle := func(r *http.Request, body []byte) (Entry, response) {
		entry, resp := handleSMS(r, body, local)
		text, accepted := resp.sent.(sentText)
		if !accepted {
			return entry, resp
		}
		if people.isOptedOut(text.to) {
			return entry, twilioResponse(*optedOut)
		}
		people.gotMessage(text.account)
		return entry, resp
	}
	return provider{channel: notification.SMS, handle: handle, reject: rejectSMS}
}

// twilioError is Twilio's form of an error.
// https://www.twilio.com/docs/usage/twilios-response#response-formats-exceptions
type twilioError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	MoreInfo string `json:"more_info"`
	Status   int    `json:"status"`
}

// handleSMS does what Twilio does for POST /2010-04-01/Accounts/{sid}/Messages.json.
func handleSMS(r *http.Request, body []byte, local bool) (Entry, response) {
	form, err := url.ParseQuery(string(body))
	entry := Entry{Recipient: form.Get("To"), Body: form.Get("Body")}
	callback, callbackErr := url.Parse(form.Get("StatusCallback"))
	if callbackErr == nil {
		entry.DeliveryID = callback.Query().Get("delivery_id")
	}
	user, token, _ := r.BasicAuth()
	account := twilioAccount{sid: r.PathValue("sid"), token: token, number: form.Get("From")}
	switch {
	case user == "" || user != account.sid || token == "":
		return entry, rejectSMS(http.StatusUnauthorized)
	case err != nil || !hasMediaType(r, "application/x-www-form-urlencoded"):
		return entry, rejectSMS(http.StatusBadRequest)
	}
	if refusal := checkSMS(form); refusal != nil {
		return entry, twilioResponse(*refusal)
	}
	if form.Get("StatusCallback") == "" {
		return entry, queued(account, form)
	}
	if callbackErr != nil || !isWebURL(callback) || !local && !isPublic(callback.Hostname()) {
		return entry, twilioResponse(twilioError{Code: 21609, Message: "The 'StatusCallback' URL is not a valid URL."})
	}
	account.callback = callback
	return entry, queued(account, form)
}

// queued is Twilio's response to a message that it accepts.
func queued(account twilioAccount, form url.Values) response {
	sid := "SM" + randomHex()
	uri := "/2010-04-01/Accounts/" + account.sid + "/Messages/" + sid
	now := time.Now().UTC().Format(time.RFC1123Z)
	created := reply(http.StatusCreated, map[string]any{
		"account_sid":           account.sid,
		"api_version":           "2010-04-01",
		"body":                  form.Get("Body"),
		"date_created":          now,
		"date_sent":             nil,
		"date_updated":          now,
		"direction":             "outbound-api",
		"error_code":            nil,
		"error_message":         nil,
		"from":                  form.Get("From"),
		"messaging_service_sid": nil,
		"num_media":             "0",
		"price":                 nil,
		"price_unit":            "USD",
		"sid":                   sid,
		"status":                "queued",
		"subresource_uris":      map[string]string{"media": uri + "/Media.json"},
		"to":                    form.Get("To"),
		"uri":                   uri + ".json",
	})
	created.sent = sentText{account: account, sid: sid, to: form.Get("To")}
	return created
}

// rejectSMS is Twilio's response to a request that it rejects as a whole.
func rejectSMS(status int) response {
	refusal := twilioError{Code: 20000 + status%1000, Message: http.StatusText(status), Status: status}
	switch status {
	case http.StatusBadRequest:
		refusal.Code = 20001
	case http.StatusUnauthorized:
		refusal.Code, refusal.Message = 20003, "Authenticate"
	case http.StatusForbidden:
		refusal.Code = 20006
	}
	return twilioResponse(refusal)
}

// twilioResponse is the response for an error; the default of its status is 400.
func twilioResponse(refusal twilioError) response {
	if refusal.Status == 0 {
		refusal.Status = http.StatusBadRequest
	}
	refusal.MoreInfo = fmt.Sprintf("https://www.twilio.com/docs/errors/%d", refusal.Code)
	return reply(refusal.Status, refusal)
}
