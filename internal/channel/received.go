package channel

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/internal/address"
	"herald/internal/notification"
)

// Received is the content of a provider's request.
type Received struct {
	Receipts  []notification.Receipt
	OptOuts   []notification.OptOut
	Malformed int // parts that cannot be read or stored; a repeat would be malformed too
	Foreign   int // receipts of messages that other programs sent with the same account
}

// Maximum lengths of a receipt's texts, in bytes. The table allows more.
const (
	wordLimit   = 40
	idLimit     = 200
	detailLimit = 500
	// deliveryIDLimit is longer than any id of a delivery or a digest.
	deliveryIDLimit = 600
)

// Add adds a receipt, without addresses in its detail. It counts a receipt without a delivery as
// foreign, and a receipt whose ids and words the table cannot store unchanged as malformed.
func (r *Received) Add(receipt notification.Receipt) {
	switch {
	case receipt.DeliveryID == "":
		r.Foreign++
	case fits(receipt.Word, wordLimit) && fits(receipt.ID, idLimit) && fits(receipt.DeliveryID, deliveryIDLimit) &&
		(receipt.MessageID == "" || fits(receipt.MessageID, idLimit)):
		receipt.Detail = withoutAddress(receipt.Detail, receipt.Address)
		r.Receipts = append(r.Receipts, receipt)
	default:
		r.Malformed++
	}
}

// AddOptOut adds an answer. It counts an answer without a valid message id and phone number as
// malformed.
func (r *Received) AddOptOut(answer notification.OptOut) {
	if !fits(answer.MessageID, idLimit) || !address.IsNumber(answer.Number) {
		r.Malformed++
		return
	}
	r.OptOuts = append(r.OptOuts, answer)
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

// mailAddress matches a word with an @, also with an @ encoded as in URLs.
var mailAddress = regexp.MustCompile(`\S*(@|%40)\S*`)

// withoutAddress returns a provider's reason in one line, without addresses. Mail servers often
// quote an address, or its part before the @.
func withoutAddress(reason, email string) string {
	reason = strings.ToValidUTF8(strings.Map(printable, reason), "�")
	if name, _, _ := strings.Cut(email, "@"); len(name) >= shortestName {
		reason = withoutWord(reason, name)
	}
	reason = mailAddress.ReplaceAllString(reason, hidden)
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
