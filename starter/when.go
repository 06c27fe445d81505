package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxAge is how far back an operator can ask.
const maxAge = 100 * 365 * day

const day = 24 * time.Hour

// parseWhen reads a time that is past: an age before now (90m, 24h, 7d, 1d12h),
// or a time in RFC 3339.
func parseWhen(value string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		if at.After(now) {
			return time.Time{}, fmt.Errorf("%s is in the future", value)
		}
		return at, nil
	}
	age, err := parseAge(value)
	if err != nil {
		return time.Time{}, err
	}
	return now.Add(-age), nil
}

var errNoWhen = errors.New("must be an age such as 90m, 24h or 7d, or a time such as 2026-11-21T08:00:00Z")

// parseAge reads a duration that may begin with days: 7d, 1d12h, 90m.
func parseAge(value string) (time.Duration, error) {
	rest := value
	var age time.Duration
	if days, after, found := strings.Cut(value, "d"); found {
		count, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errNoWhen
		}
		age, rest = time.Duration(count)*day, after
	}
	if rest != "" {
		part, err := time.ParseDuration(rest)
		if err != nil || part < 0 || part > maxAge {
			return 0, errNoWhen
		}
		age += part
	}
	if age <= 0 || age > maxAge {
		return 0, errNoWhen
	}
	return age, nil
}
