package terminal

import (
	"errors"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"
)

// maxAge is the largest age that a flag accepts.
const maxAge = 100 * 365 * 24 * time.Hour

var (
	errNoAge  = errors.New("must be an age such as 90m, 24h or 7d")
	errNoTime = errors.New("must be an age such as 90m, 24h or 7d, or a time such as 2026-11-21T08:00:00Z")
)

// Age is a duration that may have days, such as 7d, 1d12h or 90m. The zero value means that no age
// was given.
type Age struct {
	Duration time.Duration
	Text     string // as the operator wrote it
}

// AgeFlag adds a flag that takes an age.
func AgeFlag(flags *pflag.FlagSet, target *Age, name, usage string) {
	flags.Var(&Value{Kind: "age", Text: target.Text, Read: func(text string) (_ string, err error) {
		target.Text = text
		target.Duration, err = parseAge(text)
		return text, err
	}}, name, usage)
}

// TimeFlag adds a flag that takes an age before now, or a time in RFC 3339.
func TimeFlag(flags *pflag.FlagSet, target *time.Time, name, usage string) {
	flags.Var(&Value{Kind: "age|time", Read: func(text string) (_ string, err error) {
		*target, err = parsePast(text, time.Now())
		return text, err
	}}, name, usage)
}

func parsePast(value string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		age, err := parseAge(value)
		if err != nil {
			return time.Time{}, errNoTime
		}
		at = now.Add(-age)
	}
	if at.After(now) {
		return time.Time{}, errors.New("is in the future")
	}
	return at, nil
}

func parseAge(value string) (time.Duration, error) {
	age, err := model.ParseDuration(value)
	if err != nil || age <= 0 || time.Duration(age) > maxAge {
		return 0, errNoAge
	}
	return time.Duration(age), nil
}
