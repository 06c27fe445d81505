package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// The forms of settings.
var (
	taskQueuePrefix = regexp.MustCompile(`^[a-z0-9-]{1,50}$`)
	pathSegment     = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)
	token           = regexp.MustCompile(`^[!-~]+$`) // what a header can hold
	asciiText       = regexp.MustCompile(`^[ -~]*$`)
)

func matches(found *problems, key, value string, form *regexp.Regexp, text string) {
	if !form.MatchString(value) {
		found.add(key, text)
	}
}

func within[T cmp.Ordered](found *problems, key string, value, low, high T) {
	if !(low <= value && value <= high) { // which NaN is not either
		found.add(key, fmt.Sprintf("must be from %v to %v", low, high))
	}
}

// httpURL returns a URL without a slash at its end, so that paths can follow.
func httpURL(found *problems, key, value string) string {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isHost(u.Host) || u.User != nil || strings.ContainsAny(value, "?#") {
		found.add(key, "must be a URL such as https://host, without user, query and fragment")
	}
	return strings.TrimRight(value, "/")
}

// isHost says whether text is host or host:port.
func isHost(text string) bool {
	u, err := url.Parse("//" + text)
	return err == nil && u.Host == text && u.Hostname() != "" && !strings.ContainsAny(text, " ,") &&
		(u.Port() == "" && !strings.HasSuffix(text, ":") || isPort(u.Port()))
}

func isAddr(text string) bool {
	_, port, err := net.SplitHostPort(text)
	return err == nil && isPort(port)
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

func isE164(text string) bool {
	number, err := phonenumbers.Parse(text, phonenumbers.UNKNOWN_REGION)
	return err == nil && phonenumbers.IsValidNumber(number) && phonenumbers.Format(number, phonenumbers.E164) == text
}
