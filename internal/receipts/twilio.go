package receipts

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"herald/internal/notification"
)

// twilio takes what became of one text message. The delivery stands in the address that
// Herald gave to Twilio with the message.
func (w *Webhooks) twilio(ctx context.Context, r *http.Request, body []byte) error {
	fields, err := w.checkTwilio(r, body)
	if err != nil {
		return err
	}
	delivery := r.URL.Query().Get("delivery_id")
	if delivery == "" {
		w.metrics.dropped(notification.Twilio, outcomeUnknown, 1)
		return nil
	}
	receipt, err := parseStatus(delivery, fields, w.now())
	if err != nil {
		w.metrics.dropped(notification.Twilio, outcomeMalformed, 1)
		return nil
	}
	return w.record(ctx, receipt)
}

// parseStatus reads what Twilio says of a message. It says no time, so that is now.
// https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
func parseStatus(delivery string, fields url.Values, now time.Time) (notification.Receipt, error) {
	message, status := fields.Get("MessageSid"), fields.Get("MessageStatus")
	r := notification.Receipt{
		Provider: notification.Twilio, ID: message + "/" + status, DeliveryID: delivery, MessageID: message, At: now.UTC(), Word: status, Address: fields.Get("To"),
	}
	if message == "" || !storable(r) {
		return notification.Receipt{}, errMalformed
	}
	switch status {
	case "delivered", "read":
		r.Status = notification.Delivered
	case "undelivered", "failed":
		r.Status = notification.Failed
		r.Detail, r.Suppress = explainCode(fields.Get("ErrorCode"))
	}
	return r, nil
}
