package e2e_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nightShift is the installation of docs/operations.md. The document's events are night-1,
// night-2 …; since all tests share one Temporal, another word of the same length stands
// for `night`, and one for the prefix `herald`, so that tables keep their width.
type nightShift struct {
	*system
	word   string // instead of night
	prefix string // instead of herald
	dir    string // where the operator's shell is
}

func newNightShift(t *testing.T) *nightShift {
	t.Helper()
	n := &nightShift{word: randomWord(len("night")), prefix: randomWord(len("herald")), dir: t.TempDir()}
	n.system = newSystem(t, "TASK_QUEUE_PREFIX="+n.prefix, "HERALD_ACTOR=ada@ops", "PATH="+binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
	n.starter("migrate", "up")
	n.starter("seed", "--slack-url", n.sandbox.URL)
	n.exec(nightDirectory)
	n.exec(`UPDATE recipient SET timezone = $1 WHERE user_type = 'CUSTOMER' AND user_id = '46'`, nightZone(t, time.Now()))
	n.startWorker()
	n.starter("poller", "start")
	return n
}

// randomWord contains no hexadecimal digits, so that it is part of no generated id.
func randomWord(length int) string {
	const letters = "ghjkmnpqrstvwxyz"
	word := make([]byte, length)
	for i := range word {
		word[i] = letters[rand.IntN(len(letters))]
	}
	return string(word)
}

// nightDirectory is what the document adds to the example: a restaurant with a staff of
// 120, event types, and a customer with quiet hours at night.
const nightDirectory = `
	INSERT INTO recipient (user_type, user_id, name, email, locale, timezone, active)
	SELECT 'RESTAURANT_USER', n::text, 'Staff ' || n, 'staff' || n || '@chain.example.com', 'en', 'UTC', true
	FROM   generate_series(1001, 1120) AS n;

	INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role, active)
	SELECT 'RESTAURANT', '9', 'RESTAURANT_USER', n::text, 'WAITER', true
	FROM   generate_series(1001, 1120) AS n;

	INSERT INTO recipient (user_type, user_id, name, email, phone, locale, timezone, active)
	VALUES ('CUSTOMER', '47', 'Land Line', 'line@example.com', '+15005550009', 'en', 'UTC', true);

	INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay, digest_window)
	VALUES ('SHIFT_PLANNED', 'EMAIL', 'IMMEDIATE', '0', '5 minutes'),
	       ('SPECIAL_OFFER', 'EMAIL', 'IMMEDIATE', '0', '5 minutes'),
	       ('SPECIAL_OFFER', 'PUSH', 'DELAYED', '1 hour', '5 minutes'),
	       ('POINTS_EARNED', 'EMAIL', 'AGGREGATE', '0', '1 hour');

	INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
	VALUES ('CUSTOMER', '42', 'SMS', false, false, NULL, NULL);

	UPDATE user_notification_preferences
	SET    quiet_hours_start = '22:00',
	       quiet_hours_end   = '08:00'
	WHERE  user_type = 'CUSTOMER'
	AND    user_id = '46'
	AND    channel_type = 'PUSH'`

// nightZones are spread around the globe, so that it is always night in one of them.
var nightZones = []string{
	"Europe/Rome", "America/New_York", "America/Los_Angeles", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Auckland", "Pacific/Honolulu", "America/Sao_Paulo", "Africa/Abidjan",
}

// nightZone returns a zone where it is after midnight and long before morning.
func nightZone(t *testing.T, now time.Time) string {
	for _, name := range nightZones {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		there := now.In(zone)
		since := time.Duration(there.Hour())*time.Hour + time.Duration(there.Minute())*time.Minute
		if since >= 20*time.Minute && since < 5*time.Hour {
			return name
		}
	}
	t.Fatal("it is night nowhere")
	return ""
}

// own turns a text of the document into this installation's; seen does the reverse.
func (n *nightShift) own(text string) string { return nightID.ReplaceAllString(text, n.word+"-") }

func (n *nightShift) seen(text string) string {
	return strings.NewReplacer(n.word, "night", n.prefix, "herald").Replace(text)
}

var nightID = regexp.MustCompile(`\bnight-`)

// shell runs a command as an operator's shell would, and returns its output and exit code.
func (n *nightShift) shell(command string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", n.own(command))
	cmd.Dir = n.dir
	cmd.Env = append(n.env, "DATABASE_URL="+withoutPoolSize(n.t, n.servers.databaseURL))
	out, err := cmd.CombinedOutput()
	text := trailingBlanks.ReplaceAllString(n.seen(string(out)), "") // of which a page has none
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return text + strings.Replace(exit.Error(), "exit status", "(exit code", 1) + ")\n"
	}
	require.NoError(n.t, err, "$ %s\n%s", command, text)
	return text
}

var trailingBlanks = regexp.MustCompile(`(?m)[ \t]+$`)

// withoutPoolSize returns a database's address for psql, which does not know
// pool_max_conns.
func withoutPoolSize(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	query := parsed.Query()
	query.Del("pool_max_conns")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// emit writes an event as a business service would.
func (n *nightShift) emit(id, eventType, aggregate, payload string) {
	n.t.Helper()
	n.system.emit(n.own(id), eventType, aggregate, payload)
}
