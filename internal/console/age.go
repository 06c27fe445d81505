package console

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// maxAge is how far back an operator can ask.
const maxAge = 100 * 365 * day

var (
	errNoAge  = errors.New("must be an age such as 90m, 24h or 7d")
	errNoTime = errors.New("must be an age such as 90m, 24h or 7d, or a time such as 2026-11-21T08:00:00Z")
)

// Age is the value of a flag: a duration that may begin with days, such as 7d,
// 1d12h or 90m. The zero value means that none was given.
type Age struct {
	Duration time.Duration
	text     string
}

// Set is called by the flag parser.
func (a *Age) Set(value string) error {
	age, err := parseAge(value)
	if err != nil {
		return err
	}
	*a = Age{age, value}
	return nil
}

// String is the age as it was given.
func (a *Age) String() string { return a.text }

// Type is shown by --help.
func (a *Age) Type() string { return "age" }

// PastTime is the value of a flag: an age before now, or a time in RFC 3339. The
// zero value means that none was given.
type PastTime struct {
	Time time.Time
	text string
}

// Set is called by the flag parser.
func (p *PastTime) Set(value string) error {
	now := time.Now()
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		age, err := parseAge(value)
		if err != nil {
			return errNoTime
		}
		at = now.Add(-age)
	}
	if at.After(now) {
		return errors.New("is in the future")
	}
	*p = PastTime{at, value}
	return nil
}

// String is the age or the time as it was given.
func (p *PastTime) String() string { return p.text }

// Type is shown by --help.
func (p *PastTime) Type() string { return "age|time" }

func parseAge(value string) (time.Duration, error) {
	rest := value
	var age time.Duration
	if days, after, found := strings.Cut(value, "d"); found {
		count, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errNoAge
		}
		age, rest = time.Duration(count)*day, after
	}
	if rest != "" {
		part, err := time.ParseDuration(rest)
		if err != nil || part < 0 || part > maxAge {
			return 0, errNoAge
		}
		age += part
	}
	if age <= 0 || age > maxAge {
		return 0, errNoAge
	}
	return age, nil
}
