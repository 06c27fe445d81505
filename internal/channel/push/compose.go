package push

import (
	"firebase.google.com/go/v4/messaging"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	messageLimit    = 4096 // bytes of notification and data together; FCM's
	collapseIDLimit = 64   // bytes; Apple's
)

// The keys of data.
const (
	deliveryIDKey = "delivery_id"
	titleKey      = "title"
	bodyKey       = "body"
)

// size is what FCM counts of a message, in bytes.
func size(msg notification.Message) int {
	all := len(msg.Title) + len(msg.Body) + len(deliveryIDKey) + len(msg.DeliveryID)
	if msg.PushKind == notification.PushData {
		all += len(titleKey) + len(bodyKey)
	}
	return all
}

// compose writes the message for one device.
func compose(msg notification.Message, device string) *messaging.Message {
	if msg.PushKind == notification.PushData {
		return composeData(msg, device)
	}
	return composeNotification(msg, device)
}

// composeData writes a message that the app shows. It has no collapse key: with
// one, FCM would keep only four of them for a phone that is offline. An app that
// gets a repeat, after an answer that was lost, finds the same delivery id in it.
func composeData(msg notification.Message, device string) *messaging.Message {
	return &messaging.Message{
		Token: device,
		Data:  map[string]string{deliveryIDKey: msg.DeliveryID, titleKey: msg.Title, bodyKey: msg.Body},
		Android: &messaging.AndroidConfig{
			Priority: "high", // else a phone that sleeps gets it when it wakes
		},
		APNS: &messaging.APNSConfig{
			// iOS wakes the app only for these headers and content-available together.
			Headers: map[string]string{"apns-push-type": "background", "apns-priority": "5"},
			Payload: &messaging.APNSPayload{Aps: &messaging.Aps{ContentAvailable: true}},
		},
	}
}

// composeNotification writes a message that the phone shows. A repeat of it,
// after an answer that was lost, replaces the first one on the device.
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
