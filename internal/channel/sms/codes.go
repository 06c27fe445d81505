package sms

import (
	"errors"
	"strconv"

	twilio "github.com/twilio/twilio-go/client"

	"herald/internal/notification"
)

// meaning is what Twilio's codes say beyond the HTTP status that they come with.
// https://www.twilio.com/docs/api/errors
var meaning = map[int]notification.FailureClass{
	20429: notification.Busy, // too many requests
	21611: notification.Busy, // the queue of our number is full

	21211: notification.Refused, // invalid number
	21212: notification.Refused, // invalid sender
	21408: notification.Refused, // no permission for that region
	21606: notification.Refused, // the sender cannot reach that number
	21610: notification.Refused, // the person opted out
	21612: notification.Refused, // no route to that number
	21614: notification.Refused, // not a mobile number
	21617: notification.Refused, // body too long
}

// suppresses are the codes by which no later message would get to the number either.
var suppresses = map[int]notification.SuppressionReason{
	21211: notification.SuppressedInvalid,
	21610: notification.SuppressedOptOut,
	21614: notification.SuppressedInvalid,
}

// refine adds Twilio's own code to failure. A code may change the class of a
// failure, but never of one that is ambiguous.
func refine(failure *notification.ProviderError, err error) {
	var answer *twilio.TwilioRestError
	if !errors.As(err, &answer) || answer.Code < 10_000 || answer.Code > 99_999 {
		return
	}
	failure.Code = strconv.Itoa(answer.Code)
	class, known := meaning[answer.Code]
	if known && failure.Class != notification.Ambiguous {
		failure.Class = class
	}
	if failure.Class == notification.Refused {
		failure.Suppress = suppresses[answer.Code]
	}
}
