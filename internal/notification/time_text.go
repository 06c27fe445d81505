package notification

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// timeText matches a time as RFC 3339, Java (2026-12-24T18:00:00.000+0000, …+01:00[Europe/Rome]) and
// databases (2026-12-24 18:00:00+01) write it, also in the short form 20261224T180000Z. A time without a
// zone would be ambiguous.
var timeText = regexp.MustCompile(`^(\d{4})-?(\d{2})-?(\d{2})[Tt ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9})\d*)?)?` +
	` ?(?:([Zz]|UTC|GMT)|([+-]\d{2})(?::?(\d{2}))?)?(?:\[([A-Za-z0-9_+/-]+)\])?$`)

// readTime reads a time from a payload. It rejects years before 1970, such as the year 1, which Go writes
// for an unset time.
func readTime(value any) (at time.Time, found bool) {
	switch v := value.(type) {
	case json.Number:
		return readEpoch(v.String())
	case string:
		if at, found = readTimeText(strings.TrimSpace(v)); !found {
			at, found = readEpoch(strings.TrimSpace(v))
		}
	}
	return at, found
}

func readTimeText(text string) (at time.Time, found bool) {
	part := timeText.FindStringSubmatch(text)
	if part == nil {
		return time.Time{}, false
	}
	const fraction = "000000000"
	local := part[1] + part[2] + part[3] + part[4] + part[5] + (part[6] + "00")[:2] + "." + (part[7] + fraction)[:len(fraction)]
	offset, named := "", part[11]
	switch {
	case part[8] != "":
		offset = "+0000"
	case part[9] != "":
		offset = part[9] + (part[10] + "00")[:2]
	case named == "":
		return time.Time{}, false
	}
	zone, known := KnownZone(named)
	if !known && offset == "" {
		return time.Time{}, false
	}
	var err error
	if offset != "" { // it is exact, where a zone has an hour twice
		at, err = time.Parse("20060102150405.000000000-0700", local+offset)
	} else {
		at, err = time.ParseInLocation("20060102150405.000000000", local, zone)
	}
	return at.UTC(), err == nil && !at.Before(time.Unix(0, 0))
}

// epochs are the units in which programs count the time since 1970. A count tells its unit, because it has
// ten digits in seconds, and three more in each further unit: from 2001 to 2286.
var epochs = []struct{ least, perSecond int64 }{{1e9, 1}, {1e12, 1e3}, {1e15, 1e6}, {1e18, 1e9}}

var epochText = regexp.MustCompile(`^[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE]\+?[0-9]{1,2})?$`)

func readEpoch(digits string) (at time.Time, found bool) {
	if !epochText.MatchString(digits) {
		return time.Time{}, false
	}
	count, _ := new(big.Rat).SetString(digits)
	for _, unit := range epochs {
		least := new(big.Rat).SetInt64(unit.least)
		if count.Cmp(least) >= 0 && count.Cmp(least.Mul(least, big.NewRat(10, 1))) < 0 {
			nanos := count.Mul(count, big.NewRat(1e9, unit.perSecond))
			return time.Unix(0, new(big.Int).Quo(nanos.Num(), nanos.Denom()).Int64()).UTC(), true
		}
	}
	return time.Time{}, false
}
