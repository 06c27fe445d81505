package receipts

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/internal/notification"
)

// inbound receives a text message to our number. Only STOP and START words change anything;
// Twilio answers HELP and other texts.
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

// Twilio's default words that stop and resume sending. Twilio also resumes after YES, but people
// answer YES to other questions too: it counts only with Twilio's OptOutType.
// https://help.twilio.com/articles/223134027
var (
	stopWords  = []string{"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
	startWords = []string{"START", "UNSTOP"}
)

// parseAnswer reads a message that stops or resumes sending. For other messages ok is false.
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

// answerable reports whether an answer has a valid message id and a valid phone number.
func answerable(answer notification.OptOut) bool {
	return fits(answer.MessageID, idLimit) && phoneNumber.MatchString(answer.Number)
}

// noReply answers with TwiML that sends no reply.
func noReply(to http.ResponseWriter, _ *http.Request) {
	to.Header().Set("Content-Type", "text/xml; charset=utf-8")
	_, _ = io.WriteString(to, "<Response/>") // it fails only if the client has disconnected
}

// Maximum lengths of a receipt's texts, in bytes. The table permits more.
const (
	wordLimit   = 40
	idLimit     = 200
	detailLimit = 500
	// deliveryIDLimit is longer than any id of a delivery or a digest.
	deliveryIDLimit = 600
)

// storable reports whether the table can store the receipt's ids and words unchanged.
func storable(r notification.Receipt) bool {
	return fits(r.Word, wordLimit) && fits(r.ID, idLimit) && fits(r.DeliveryID, deliveryIDLimit) && (r.MessageID == "" || fits(r.MessageID, idLimit))
}

func fits(name string, limit int) bool {
	return name != "" && len(name) <= limit && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// Lengths of an address's local part, in bytes, to hide in a reason. A shorter name identifies
// nobody, and no e-mail address has a longer name.
const (
	shortestName = 3
	longestName  = 320
)

// hidden replaces an address.
const hidden = "[address]"

// address matches a word with an @, also with an @ encoded as in URLs.
var address = regexp.MustCompile(`\S*(@|%40)\S*`)

// withoutAddress returns a provider's reason in one line, without addresses. Mail servers often
// quote an address, or its part before the @.
func withoutAddress(reason, email string) string {
	reason = strings.ToValidUTF8(strings.Map(printable, reason), "�")
	if name, _, _ := strings.Cut(email, "@"); len(name) >= shortestName {
		reason = withoutWord(reason, name)
	}
	reason = address.ReplaceAllString(reason, hidden)
	reason = strings.Join(strings.Fields(reason), " ")
	return strings.ToValidUTF8(reason[:min(len(reason), detailLimit)], "") // remove a character that the limit cuts
}

func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// withoutWord hides a word in a text, in upper or lower case.
func withoutWord(text, word string) string {
	if len(word) > longestName {
		return hidden
	}
	whole := regexp.MustCompile(`(?i)(^|[^\pL\pN])` + regexp.QuoteMeta(strings.ToValidUTF8(word, "�")) + `($|[^\pL\pN])`)
	return whole.ReplaceAllString(text, "${1}"+hidden+"${2}")
}
