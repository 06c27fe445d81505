package address

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// The flaws of phone numbers.
const (
	NoCountry Flaw = "that does not begin with + and a country code"
	TrunkZero Flaw = "with a 0 after the country code, which is dialled only inside the country"
	NotDigits Flaw = "with letters or other characters"
	BadLength Flaw = "with too few or too many digits"
)

var (
	e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	// withZero matches (0), which tells people what to dial inside the country.
	withZero = regexp.MustCompile(`\([\s\pZ]*0[\s\pZ]*\)`)
)

// IsNumber reports whether text is a phone number in E.164: +41791234567.
func IsNumber(text string) bool { return e164.MatchString(text) }

// normalPhone drops what people write between the digits of a number with a country code.
func normalPhone(text string) (string, Flaw) {
	number := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.In(r, unicode.Pd, unicode.Cf), strings.ContainsRune("./()[]·‧−", r):
			return -1
		case r >= '０' && r <= '９':
			return r - '０' + '0' // the wide digits of Chinese and Japanese keyboards
		case r == '＋':
			return '+'
		default:
			return r
		}
	}, text)
	if digits, found := strings.CutPrefix(number, "00"); found {
		number = "+" + digits
	}
	switch {
	case !strings.HasPrefix(number, "+"):
		return "", NoCountry
	case strings.Trim(number[1:], "0123456789") != "":
		return "", NotDigits
	case strings.HasPrefix(number, "+0"):
		return "", NoCountry
	case !IsNumber(number):
		return "", BadLength
	case hasTrunkZero(number, withZero.MatchString(text)):
		return "", TrunkZero
	default:
		return number, ""
	}
}

// hasTrunkZero reports whether a 0 after the country code is wrong. In Italy, it is a part of the number.
func hasTrunkZero(number string, marked bool) bool {
	// A country code has one to three digits, so the zero is at 2, 3 or 4.
	if !marked && !strings.Contains(number[2:5], "0") {
		return false
	}
	parsed, err := phonenumbers.Parse(number, phonenumbers.UNKNOWN_REGION)
	if err != nil {
		return marked
	}
	international := phonenumbers.Format(parsed, phonenumbers.E164)
	if international == number {
		return marked && !phonenumbers.IsValidNumber(parsed)
	}
	for i := 2; i <= 4; i++ {
		if number[i] == '0' && number[:i]+number[i+1:] == international {
			return true
		}
	}
	return marked
}
