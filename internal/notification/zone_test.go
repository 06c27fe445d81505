package notification_test

import (
	"archive/zip"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// zoneNames returns every name of Go's database.
func zoneNames(t *testing.T) []string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	file, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	var names []string
	for _, entry := range file.File {
		if !strings.HasSuffix(entry.Name, "/") {
			names = append(names, entry.Name)
		}
	}
	require.Greater(t, len(names), 500)
	return names
}

// Every zone of Go's database is known, and so is its present name, whose clocks show the same.
func TestEveryZoneIsKnown(t *testing.T) {
	t.Parallel()

	for _, name := range zoneNames(t) {
		zone, known := notification.KnownZone(name)
		require.True(t, known, name)
		require.Equal(t, name, zone.String())
		present := notification.PresentZone(name)
		require.Equal(t, present, notification.PresentZone(present), "%s: a present name has no other", name)
		renamed, known := notification.KnownZone(present)
		require.True(t, known, present)
		for _, month := range []time.Month{time.January, time.July} {
			at := time.Date(2026, month, 1, 12, 0, 0, 0, time.UTC)
			require.Equal(t, at.In(zone).Format("15:04"), at.In(renamed).Format("15:04"), "%s is %s", name, present)
		}
	}
}

// A former name becomes the present one. A place keeps its own name, also where it shares the rules of
// another place.
func TestPresentZone(t *testing.T) {
	t.Parallel()

	for former, present := range map[string]string{
		"Asia/Calcutta": "Asia/Kolkata", "Asia/Katmandu": "Asia/Kathmandu", "Asia/Rangoon": "Asia/Yangon", "Asia/Saigon": "Asia/Ho_Chi_Minh",
		"Europe/Kiev":     "Europe/Kyiv",
		"Atlantic/Faeroe": "Atlantic/Faroe", "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
		"America/Indianapolis": "America/Indiana/Indianapolis", "America/Godthab": "America/Nuuk",
		"Africa/Asmera": "Africa/Asmara", "Pacific/Truk": "Pacific/Chuuk", "Pacific/Ponape": "Pacific/Pohnpei",
		"Pacific/Enderbury": "Pacific/Kanton", "America/Coral_Harbour": "America/Atikokan",
		"US/Pacific": "America/Los_Angeles", "GB": "Europe/London", "Iceland": "Atlantic/Reykjavik", "Zulu": "UTC", "Etc/UTC": "UTC",
		" Asia/Calcutta\n": "Asia/Kolkata",
		"Europe/Oslo":      "Europe/Oslo", "Europe/Stockholm": "Europe/Stockholm", "Africa/Accra": "Africa/Accra", "Europe/Rome": "Europe/Rome",
		"Etc/GMT-14": "Etc/GMT-14", "EST": "EST", "": "", "Mars/Olympus": "Mars/Olympus",
	} {
		require.Equal(t, present, notification.PresentZone(former))
	}
}

// Names that mean something else on another machine are unknown, and so is whatever is no name.
func TestUnknownZones(t *testing.T) {
	t.Parallel()

	for _, name := range []string{
		"Local", "localtime", "posixrules", "posix/Europe/Rome", "right/Europe/Rome", "europe/rome", "PST", "Europe", "Mars/Olympus",
		"../../etc/passwd", "/etc/localtime", "Europe/Rome\x00",
	} {
		zone, known := notification.KnownZone(name)
		require.False(t, known, name)
		require.Equal(t, time.UTC, zone, name)
	}
	empty, known := notification.KnownZone("")
	require.True(t, known)
	require.Equal(t, time.UTC, empty)
}

// A zone is read once, and unknown names do not fill the memory. It counts allocations, so it runs alone.
func TestZonesAreCached(t *testing.T) {
	first, _ := notification.KnownZone("Pacific/Chatham")
	var all sync.WaitGroup
	for i := range 3000 {
		all.Go(func() {
			_, known := notification.KnownZone(fmt.Sprintf("Mars/%d", i))
			again, _ := notification.KnownZone("Pacific/Chatham")
			if known || again != first {
				t.Errorf("%d: another zone", i)
			}
		})
	}
	all.Wait()
	require.Zero(t, testing.AllocsPerRun(100, func() { notification.KnownZone("Pacific/Chatham") }))
}
