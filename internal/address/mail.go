package address

import (
	"net"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The flaws of mail addresses.
const (
	NoAt      Flaw = "without one @ between a name and a domain"
	HasSpace  Flaw = "with a space inside"
	BadName   Flaw = "whose part before the @ has a character that mail does not allow there, such as a comma or a bracket"
	BadDomain Flaw = "whose domain cannot exist"
	LongMail  Flaw = "that is longer than mail allows"
)

// The limits of RFC 5321, section 4.5.3.1, in bytes.
const (
	maxName   = 64
	maxDomain = 255
	maxMail   = 254 // https://www.rfc-editor.org/errata/eid1690
)

// needsQuotes reports whether a name may have a character only in quotes, by RFC 5322 and, for letters of
// every language, RFC 6532.
func needsQuotes(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("!#$%&'*+/=?^_`{|}~.-", r)
}

// isLabel reports whether a part of a domain in lower-case ASCII is one. Some mail servers have an
// underscore in theirs.
func isLabel(part string) bool {
	foreign := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' }
	return part != "" && len(part) <= 63 && part[0] != '-' && part[len(part)-1] != '-' && !strings.ContainsFunc(part, foreign)
}

// normalMail keeps the name as it is, with quotes if it needs them, and writes the domain in ASCII.
func normalMail(text string) (string, Flaw) {
	at := strings.LastIndex(text, "@")
	if at <= 0 || at == len(text)-1 {
		return "", NoAt
	}
	name, flaw := normalName(text[:at])
	if flaw != "" {
		return "", flaw
	}
	domain, ok := normalDomain(text[at+1:])
	switch {
	case strings.ContainsFunc(text[at+1:], unicode.IsSpace):
		return "", HasSpace
	case !ok:
		return "", BadDomain
	case len(name) > maxName || len(name+"@"+domain) > maxMail:
		return "", LongMail
	default:
		return name + "@" + domain, ""
	}
}

func normalName(name string) (string, Flaw) {
	if strings.HasPrefix(name, `"`) {
		parsed, err := mail.ParseAddress(name + "@example.com")
		if err != nil || parsed.Name != "" {
			return "", BadName
		}
		name = strings.TrimSuffix(parsed.Address, "@example.com")
		return quoted(name), ""
	}
	switch {
	case !utf8.ValidString(name):
		return "", BadName
	case strings.Contains(name, "@"):
		return "", NoAt
	case strings.ContainsFunc(name, unicode.IsSpace):
		return "", HasSpace
	case strings.ContainsFunc(name, needsQuotes):
		return "", BadName
	default:
		return quoted(name), "" // such as ada.@example.com, which some providers once gave away
	}
}

// quoted quotes a name if the syntax needs it.
func quoted(name string) string {
	if name != "" && !strings.ContainsFunc(name, needsQuotes) && name[0] != '.' && name[len(name)-1] != '.' && !strings.Contains(name, "..") {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// normalDomain returns the ASCII form of a domain, or an address in brackets.
func normalDomain(domain string) (string, bool) {
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		ip, closed := strings.CutSuffix(literal, "]")
		return domain, closed && net.ParseIP(strings.TrimPrefix(ip, "IPv6:")) != nil
	}
	ascii := strings.ToLower(domain)
	if strings.ContainsFunc(domain, func(r rune) bool { return r > unicode.MaxASCII }) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(domain); err != nil {
			return "", false
		}
	}
	for part := range strings.SplitSeq(ascii, ".") {
		if !isLabel(part) {
			return "", false
		}
	}
	return ascii, len(ascii) <= maxDomain
}
