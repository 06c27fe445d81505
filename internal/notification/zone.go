package notification

import (
	_ "embed"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // every program knows the same time zones, also without files of its machine
)

// renamedZones has lines with a former name of a time zone and its present name. They are the links of the
// IANA database, apart from places that only share the rules of another place: Oslo is not Berlin.
//
//go:embed renamed_zones.txt
var renamedZones string

var presentZones = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for line := range strings.Lines(renamedZones) {
		former, present, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[former] = present
	}
	return names
})

// PresentZone returns the present name of a time zone. Browsers still give some former names, such as
// Asia/Calcutta.
func PresentZone(name string) string {
	name = strings.TrimSpace(name)
	if present, renamed := presentZones()[name]; renamed {
		return present
	}
	return name
}

// zones caches the time zones by name: reading one parses a file. An unknown name has nil.
var zones struct {
	byName sync.Map
	size   atomic.Int64
}

// maxZones limits the cache, which unknown names could fill. It is larger than the database.
const maxZones = 2000

// KnownZone returns the time zone of a name and whether the name is known; an unknown name gives UTC.
// An empty name is UTC.
func KnownZone(name string) (*time.Location, bool) {
	name = strings.TrimSpace(name)
	cached, found := zones.byName.Load(name)
	if !found {
		cached = readZone(name)
		if zones.size.Add(1) <= maxZones {
			zones.byName.Store(name, cached)
		}
	}
	if location := cached.(*time.Location); location != nil {
		return location, true
	}
	return time.UTC, false
}

// readZone returns nil for an unknown name. Local and localtime, and the copies of the database in some
// machines' files, differ between machines, so they are unknown.
func readZone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" || name == "localtime" || strings.HasPrefix(name, "posix") || strings.HasPrefix(name, "right/") {
		return nil
	}
	return location
}
