package receipts

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/internal/notification"
)

// The longest texts of a receipt that Herald takes, in bytes. The table has room for more.
const (
	wordLimit   = 40
	idLimit     = 200
	detailLimit = 500
	// deliveryIDLimit is above the longest id of a delivery or a digest.
	deliveryIDLimit = 600
)

// storable says whether the names in a receipt can be kept as they are.
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
	return shortened(strings.Join(strings.Fields(reason), " "), detailLimit)
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

// shortened cuts a text to a number of bytes, and no character in two.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
