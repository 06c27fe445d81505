package receipts

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"herald/internal/notification"
)

// inbound takes what somebody has texted to our number. HELP and all that is no keyword is
// Twilio's to answer, and changes nothing.
func (w *Webhooks) inbound(ctx context.Context, r *http.Request, body []byte) error {
	fields, err := w.checkTwilio(r, body)
	if err != nil {
		return err
	}
	answer, ok := parseAnswer(fields)
	if !ok {
		return nil
	}
	if !answerable(answer) {
		w.metrics.dropped(notification.Twilio, outcomeMalformed, 1)
		return nil
	}
	return w.OptOuts.RecordOptOut(ctx, answer)
}

// The words by which Twilio, where nothing else is agreed with it, stops and resumes sending.
// YES, with which it resumes too, is also what people answer to a question: it counts only if
// Twilio says so.
// https://help.twilio.com/articles/223134027
var (
	stopWords  = []string{"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
	startWords = []string{"START", "UNSTOP"}
)

// parseAnswer reads a message that stops or resumes further ones; of any other, ok is false.
func parseAnswer(fields url.Values) (answer notification.OptOut, ok bool) {
	answer = notification.OptOut{MessageID: fields.Get("MessageSid"), Number: fields.Get("From")}
	switch fields.Get("OptOutType") {
	case "STOP":
		return answer, true
	case "START":
		answer.Lifted = true
		return answer, true
	case "":
		word := strings.ToUpper(strings.TrimSpace(fields.Get("Body")))
		answer.Lifted = slices.Contains(startWords, word)
		return answer, answer.Lifted || slices.Contains(stopWords, word)
	}
	return answer, false
}

var phoneNumber = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// answerable says whether an answer names a message and a number that could have got one.
func answerable(answer notification.OptOut) bool {
	return fits(answer.MessageID, idLimit) && phoneNumber.MatchString(answer.Number)
}

// noReply is TwiML that sends nothing back.
func noReply(to http.ResponseWriter, _ *http.Request) {
	to.Header().Set("Content-Type", "text/xml; charset=utf-8")
	_, _ = io.WriteString(to, "<Response/>") // a client that has gone needs no answer
}
