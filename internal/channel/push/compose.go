package push

import (
	"firebase.google.com/go/v4/messaging"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	messageLimit    = 4096 // bytes of notification and data together; FCM's
	collapseIDLimit = 64   // bytes; Apple's
	deliveryIDKey   = "delivery_id"
)

// size is what FCM counts of a message, in bytes.
func size(msg notification.Message) int {
	return len(msg.Title) + len(msg.Body) + len(deliveryIDKey) + len(msg.DeliveryID)
}

// compose writes the message for one device. A repeat of it, after an answer
// that was lost, replaces the first one on the device.
func compose(msg notification.Message, device string) *messaging.Message {
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
