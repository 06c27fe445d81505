package environment

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Forms that several settings have.
var (
	Token = regexp.MustCompile(`^[!-~]+$`)                 // the value of an HTTP header
	Name  = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`) // a segment of a URL path
)

// Match refuses a value that does not match form.
func (r *Reader) Match(key, value string, form *regexp.Regexp, text string) {
	if !form.MatchString(value) {
		r.Refuse(key, text)
	}
}

// Need refuses an empty setting that another setting needs: `because`, which is set.
func (r *Reader) Need(key, value, because string) {
	if value == "" {
		r.Refuse(key, "is not set, but "+because+" is")
	}
}

// Within refuses a value less than low or greater than high.
func Within[T cmp.Ordered](r *Reader, key string, value, low, high T) {
	if !(low <= value && value <= high) { // false for NaN
		r.Refuse(key, fmt.Sprintf("must be from %v to %v", low, high))
	}
}

// RateLimit refuses a limit that is no number of messages a second. 0 is no limit.
func (r *Reader) RateLimit(key string, limit float64) {
	if !(limit >= 0 && limit <= math.MaxFloat64) { // false for NaN and infinity
		r.Refuse(key, "must be a number of messages a second, or 0 for no limit")
	}
}

// URL returns a URL without a slash at its end, so that callers can append paths.
func (r *Reader) URL(key, value string) string {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !IsHost(u.Host) || u.User != nil || strings.ContainsAny(value, "?#") {
		r.Refuse(key, "must be a URL such as https://host, without user, query and fragment")
	}
	return strings.TrimRight(value, "/")
}

// IsHost reports whether text is host or host:port.
func IsHost(text string) bool {
	u, err := url.Parse("//" + text)
	return err == nil && u.Host == text && u.Hostname() != "" && !strings.ContainsAny(text, " ,") &&
		(u.Port() == "" && !strings.HasSuffix(text, ":") || IsPort(u.Port()))
}

// IsPort reports whether text is the number of a port.
func IsPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}
