package sandbox

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"herald/internal/notification"
)

// WebhookSecret is the secret that the sandbox, as a receiver of webhooks, knows.
const WebhookSecret = "whsec_c2FuZGJveC1zYW5kYm94LXNhbmRib3gt"

var webhook = provider{
	name: "Receiver", channel: notification.Webhook, fault: notification.Webhook, route: "POST /hooks/{path...}",
	handle: handleWebhook, reject: rejectWebhook,
}

// handleWebhook answers POST /hooks/… like a receiver that follows Standard Webhooks. The ledger has
// the webhook-id as the delivery id. A path that begins with gone wants no more messages.
func handleWebhook(r *http.Request, body []byte, _ bool) (Entry, response) {
	var frame notification.Frame
	err := json.Unmarshal(body, &frame)
	entry := Entry{DeliveryID: r.Header.Get(standardwebhooks.HeaderWebhookID), Recipient: r.URL.Path, Title: frame.Title, Body: frame.Body}
	receiver, keyErr := standardwebhooks.NewWebhook(WebhookSecret)
	switch {
	case keyErr != nil || receiver.Verify(body, r.Header) != nil:
		return entry, rejectWebhook(http.StatusUnauthorized)
	case strings.HasPrefix(r.PathValue("path"), "gone"):
		return entry, rejectWebhook(http.StatusGone)
	case err != nil || !hasMediaType(r, "application/json") || frame.Type != notification.FrameNotification || frame.DeliveryID == "":
		return entry, rejectWebhook(http.StatusBadRequest)
	default:
		return entry, response{status: http.StatusNoContent}
	}
}

// webhookErrors are the receiver's error texts by status.
var webhookErrors = map[int]string{
	http.StatusUnauthorized: "the signature is wrong",
	http.StatusGone:         "no more messages, please",
}

func rejectWebhook(status int) response {
	return replyText(status, cmp.Or(webhookErrors[status], http.StatusText(status)))
}
