package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	maxPush       = 4096 // bytes of notification and data; FCM's
	maxCollapseID = 64   // bytes; Apple's
)

// invalidField returns the first field for which FCM would reject the message, and why;
// both are empty for a valid message.
func (m *fcmMessage) invalidField() (field, text string) {
	if m.Token == "" {
		return "message", "Recipient of the message is not set."
	}
	if strings.HasPrefix(m.Token, "invalid") || strings.ContainsAny(m.Token, " \t\r\n") {
		return "message.token", "The registration token is not a valid FCM registration token"
	}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		if isReserved(key) {
			return "message.data", fmt.Sprintf("Invalid data payload key: %s", key)
		}
	}
	if m.size() > maxPush {
		return "message", fmt.Sprintf("Message is too big: notification and data have at most %d bytes.", maxPush)
	}
	if m.Android != nil && !slices.Contains([]string{"", "NORMAL", "HIGH"}, strings.ToUpper(m.Android.Priority)) {
		return "message.android.priority", "Invalid value at 'message.android.priority'."
	}
	if m.APNS != nil && len(m.APNS.Headers["apns-collapse-id"]) > maxCollapseID {
		return "message.apns.headers", fmt.Sprintf("apns-collapse-id has at most %d bytes.", maxCollapseID)
	}
	return "", ""
}

// isReserved says that FCM keeps the key for itself.
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
func isReserved(key string) bool {
	return key == "from" || strings.HasPrefix(key, "gcm") || strings.HasPrefix(key, "google")
}

// size is what FCM counts of the message, in bytes.
func (m *fcmMessage) size() int {
	return len(m.Notification.Title) + len(m.Notification.Body) + len(m.Notification.Image) + sizeOf(m.Data)
}
