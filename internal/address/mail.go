package address

import (
	"net"
	"net/mail"
	"regexp"
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

var (
	// plainName and quotedName are the forms of RFC 5322 and, with letters of every language, of RFC 6532.
	plainName = regexp.MustCompile("^[\\pL\\pM\\pN!#$%&'*+/=?^_`{|}~-]+(?:\\.[\\pL\\pM\\pN!#$%&'*+/=?^_`{|}~-]+)*$")
	dottyName = regexp.MustCompile("^[\\pL\\pM\\pN!#$%&'*+/=?^_`{|}~.-]+$")
	// label is a part of a domain in ASCII. Some mail servers have an underscore in theirs.
	label = regexp.MustCompile(`^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$`)
)

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
	case !dottyName.MatchString(name):
		return "", BadName
	default:
		return quoted(name), "" // such as ada.@example.com, which some providers once gave away
	}
}

// quoted quotes a name if the syntax needs it.
func quoted(name string) string {
	if plainName.MatchString(name) {
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
		if !label.MatchString(part) {
			return "", false
		}
	}
	return ascii, len(ascii) <= maxDomain
}
