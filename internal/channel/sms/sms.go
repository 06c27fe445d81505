// Package sms holds the checks of a message and of a number, which all providers of text messages
// share. Package wiring lists the providers.
package sms

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"herald/internal/address"
	"herald/internal/notification"
)

// Ready returns a message with its number in E.164, or why no provider can send it.
func Ready(msg notification.Message) (ready notification.Message, flaw string) {
	to, wrong := address.Normal(notification.SMS, msg.To)
	switch {
	case wrong != "":
		return msg, "invalid number: " + string(wrong)
	case strings.TrimSpace(msg.Body) == "":
		return msg, "empty body"
	// for Vonage too, since failover may reach each provider
	case !notification.SMS.Carries(msg.DeliveryID, notification.Text{Body: msg.Body}):
		return msg, "body too long"
	}
	msg.To = to
	return msg, ""
}

// IsNumber reports whether text is a valid phone number in E.164.
func IsNumber(text string) bool {
	number, err := phonenumbers.Parse(text, phonenumbers.UNKNOWN_REGION)
	return err == nil && phonenumbers.IsValidNumber(number) && phonenumbers.Format(number, phonenumbers.E164) == text
}
