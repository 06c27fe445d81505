package notification

import "encoding/json"

// The limits of providers for one message.
const (
	MaxSMS        = 1600      // characters, by Twilio (error 21617)
	MaxWebPush    = 3993      // bytes of JSON in a record of 4,096, which each push service takes
	MaxWebhook    = 256 << 10 // bytes of JSON: twice the longest texts, and JSON's escapes
	maxSlackTitle = 500       // characters; escaped, and with a url, they fit into Slack's first block
)

// Carries reports whether the channel's providers take a text in one message with the id. It is for
// digests, whose texts grow with their items.
func (c Channel) Carries(id string, text Text) bool {
	carries := c.row().carries
	return carries == nil || carries(id, text)
}

// WebPush is the text for the inbox page's service worker.
type WebPush struct {
	DeliveryID string `json:"delivery_id"`
	Title      string `json:"title"`
	Body       string `json:"body"`
	Tag        string `json:"tag"`           // a notification replaces the one with the same tag
	URL        string `json:"url,omitempty"` // a click opens it; empty: the inbox
}

// carriedByPush measures the message for browsers. Firebase's limit is higher.
func carriedByPush(id string, text Text) bool {
	return size(WebPush{DeliveryID: id, Title: text.Title, Body: text.Body, Tag: id, URL: text.URL}) <= MaxWebPush
}

func carriedByWebhook(id string, text Text) bool {
	const others = 4 << 10 // the ids in the frame
	return size(Message{DeliveryID: id, Title: text.Title, Body: text.Body, URL: text.URL}.Frame()) <= MaxWebhook-others
}

func size(message any) int {
	encoded, _ := json.Marshal(message) // texts do not fail
	return len(encoded)
}
