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

// answerable reports whether an answer names a message and a number that could have got one.
func answerable(answer notification.OptOut) bool {
	return fits(answer.MessageID, idLimit) && phoneNumber.MatchString(answer.Number)
}

// noReply is TwiML that sends nothing back.
func noReply(to http.ResponseWriter, _ *http.Request) {
	to.Header().Set("Content-Type", "text/xml; charset=utf-8")
	_, _ = io.WriteString(to, "<Response/>") // a client that has gone needs no answer
}

// The longest texts of a receipt that Herald takes, in bytes. The table has room for more.
const (
	wordLimit   = 40
	idLimit     = 200
	detailLimit = 500
	// deliveryIDLimit is above the longest id of a delivery or a digest.
	deliveryIDLimit = 600
)

// storable reports whether the names in a receipt can be kept as they are.
func storable(r notification.Receipt) bool {
	return fits(r.Word, wordLimit) && fits(r.ID, idLimit) && fits(r.DeliveryID, deliveryIDLimit) && (r.MessageID == "" || fits(r.MessageID, idLimit))
}

func fits(name string, limit int) bool {
	return name != "" && len(name) <= limit && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// What is before the @ of an address is looked for in a reason if it has so many bytes: less
// tells nobody, and mail has no more.
const (
	shortestName = 3
	longestName  = 320
)

// hidden stands where an address stood.
const hidden = "[address]"

// address is whatever has an @ in it, also in the form that URLs have.
var address = regexp.MustCompile(`\S*(@|%40)\S*`)

// withoutAddress is a provider's reason on one line, without addresses: servers like to
// quote them, whole or up to their @.
func withoutAddress(reason, email string) string {
	reason = strings.ToValidUTF8(strings.Map(printable, reason), "�")
	if name, _, _ := strings.Cut(email, "@"); len(name) >= shortestName {
		reason = withoutWord(reason, name)
	}
	reason = address.ReplaceAllString(reason, hidden)
	reason = strings.Join(strings.Fields(reason), " ")
	return strings.ToValidUTF8(reason[:min(len(reason), detailLimit)], "") // no character in two
}

func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// withoutWord hides a word of a text, however it is capitalised.
func withoutWord(text, word string) string {
	if len(word) > longestName {
		return hidden
	}
	whole := regexp.MustCompile(`(?i)(^|[^\pL\pN])` + regexp.QuoteMeta(strings.ToValidUTF8(word, "�")) + `($|[^\pL\pN])`)
	return whole.ReplaceAllString(text, "${1}"+hidden+"${2}")
}
