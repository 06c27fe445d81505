package fcm

import (
	"strconv"
	"strings"
	"time"

	"firebase.google.com/go/v4/messaging"

	"herald/internal/channel"
	"herald/internal/channel/push"
	"herald/internal/notification"
)

const (
	messageLimit    = 4096                // FCM's limit in bytes, for notification and data together
	collapseIDLimit = 64                  // Apple's limit in bytes
	maxTimeToLive   = 28 * 24 * time.Hour // FCM's limit, and its default
)

// The keys of data.
const (
	deliveryIDKey = "delivery_id"
	collapseIDKey = "collapse_id"
	titleKey      = "title"
	bodyKey       = "body"
	urlKey        = "url"
)

// size returns the bytes of a message that count for FCM's limit.
func size(msg notification.Message) int {
	all := len(msg.Title) + len(msg.Body) + len(deliveryIDKey) + len(msg.DeliveryID)
	if msg.PushKind == notification.PushData {
		all += len(titleKey) + len(bodyKey)
	}
	if id := push.CollapseID(msg); id != "" {
		all += len(collapseIDKey) + len(id)
	}
	if msg.URL != "" {
		all += len(urlKey) + len(msg.URL)
	}
	return all
}

// compose builds the message for one device.
func compose(msg notification.Message, device string) *messaging.Message {
	message := composeNotification(msg, device)
	if msg.PushKind == notification.PushData {
		message = composeData(msg, device)
	}
	web := map[string]string{}
	if msg.URL != "" {
		message.Data[urlKey] = msg.URL // for the app; a browser opens it itself, see below
	}
	if id := push.CollapseID(msg); id != "" {
		replaceOlder(message, id)
		web["Topic"] = id
	}
	if left, expires := msg.TimeLeft(maxTimeToLive); expires {
		message.Android.TTL = &left
		message.APNS.Headers["apns-expiration"] = strconv.FormatInt(msg.ExpiresAt.Unix(), 10)
		web["TTL"] = strconv.Itoa(int(left.Seconds()))
	}
	if link := strings.HasPrefix(msg.URL, "https://"); link || len(web) > 0 {
		message.Webpush = &messaging.WebpushConfig{Headers: web}
		if link { // FCM takes no other link
			message.Webpush.FCMOptions = &messaging.WebpushFCMOptions{Link: msg.URL}
		}
	}
	return message
}

// replaceOlder makes a message replace older messages with the id, on the device and on the way to
// it. An app that shows data messages does that itself, by the data.
func replaceOlder(message *messaging.Message, id string) {
	message.Data[collapseIDKey] = id
	message.Android.CollapseKey = id
	message.APNS.Headers["apns-collapse-id"] = id
	if message.Android.Notification != nil {
		message.Android.Notification.Tag = id
	}
}

// composeData builds a message that the app shows. Without a key of the event it has no collapse
// key: FCM would keep only four such messages for an offline phone. If an answer is lost, the app
// may get a repeat; it recognises the delivery id.
func composeData(msg notification.Message, device string) *messaging.Message {
	return &messaging.Message{
		Token: device,
		Data:  map[string]string{deliveryIDKey: msg.DeliveryID, titleKey: msg.Title, bodyKey: msg.Body},
		Android: &messaging.AndroidConfig{
			Priority: "high", // without it, a sleeping phone gets the message when it wakes
		},
		APNS: &messaging.APNSConfig{
			// iOS wakes the app only with both these headers and content-available.
			Headers: map[string]string{"apns-push-type": "background", "apns-priority": "5"},
			Payload: &messaging.APNSPayload{Aps: &messaging.Aps{ContentAvailable: true}},
		},
	}
}

// composeNotification builds a message that the phone shows. If an answer is lost, a repeat
// replaces the first message on the device.
func composeNotification(msg notification.Message, device string) *messaging.Message {
	return &messaging.Message{
		Token:        device,
		Notification: &messaging.Notification{Title: msg.Title, Body: msg.Body},
		Data:         map[string]string{deliveryIDKey: msg.DeliveryID},
		Android: &messaging.AndroidConfig{
			CollapseKey:  msg.DeliveryID,
			Notification: &messaging.AndroidNotification{Tag: msg.DeliveryID},
		},
		APNS: &messaging.APNSConfig{
			Headers: map[string]string{"apns-collapse-id": channel.FitID(msg.DeliveryID, collapseIDLimit)},
		},
	}
}
