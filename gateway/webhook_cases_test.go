package main

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// webhookCases are requests of providers, and of others. Those that are taken hold something
// to store.
func webhookCases() []contractCase {
	const sendgrid, twilio, inbound = "/webhooks/sendgrid", "/webhooks/twilio?delivery_id=evt-0-staff10-SMS", "/webhooks/twilio/inbound"
	batch := `[{"event":"delivered","sg_event_id":"e1","sg_message_id":"m1.x","timestamp":1600112492,"delivery_id":"evt-0-staff10-EMAIL"}]`
	long := strings.Repeat(" ", 1<<20) + batch
	events := func(body string, header http.Header) request {
		return request{method: "POST", path: sendgrid, body: body, header: header}
	}
	form := func(path string, fields url.Values, header http.Header) request {
		return request{method: "POST", path: path, body: fields.Encode(), header: header}
	}
	status := url.Values{"MessageSid": {"SM1"}, "MessageStatus": {"delivered"}}
	text := url.Values{"MessageSid": {"SM2"}, "From": {"+393401234567"}, "Body": {"STOP"}}
	large := url.Values{"Body": {strings.Repeat("x", 64<<10)}}
	return []contractCase{
		{"events", events(batch, provider.SendGrid(time.Now(), batch)), 204},
		{"old events", events(batch, provider.SendGrid(time.Unix(1600112502, 0), batch)), 403},
		{"events without a signature", events(batch, http.Header{"Content-Type": {"application/json"}}), 403},
		{"many events", events(long, provider.SendGrid(time.Now(), long)), 413},
		{"a status", form(twilio, status, provider.Twilio(twilio, status)), 204},
		{"a status, forged", form(twilio, status, provider.Twilio(inbound, status)), 403},
		{"a status, too large", form(twilio, large, provider.Twilio(twilio, large)), 413},
		{"a text", form(inbound, text, provider.Twilio(inbound, text)), 200},
		{"a text, forged", form(inbound, text, provider.Twilio(twilio, text)), 403},
		{"a text, too large", form(inbound, large, provider.Twilio(inbound, large)), 413},
	}
}
