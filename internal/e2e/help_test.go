package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// TestHelpExamples runs every example in `--help` of starter, sandbox and demo, with the values
// of helpValues. Each must succeed, except the commands of helpPreviews.
func TestHelpExamples(t *testing.T) {
	t.Parallel()

	h := newHelp(t)
	all := slices.Concat(h.examples("starter"), h.examples("sandbox"), h.examples("demo"))
	require.Greater(t, len(all), 40)
	for _, server := range []string{"worker", "gateway"} {
		require.Contains(t, h.program(server, "--help"), "-version")
	}
	last := regexp.MustCompile(`^starter (recipient erase|seed|migrate down)\b`) // these change data that other examples need
	for _, example := range all {
		if !last.MatchString(example) {
			h.try(example)
		}
	}
	h.emittedAreSent()
	for _, example := range slices.Backward(all) {
		if last.MatchString(example) {
			h.try(example)
		}
	}
}

// help is an installation for the examples. Their evt-1 is an event of restaurant 5.
type help struct {
	*reader
	sent string // id of an event whose deliveries were all sent
}

func newHelp(t *testing.T) *help {
	h := &help{reader: newReader(t)}
	h.save("sources.yaml", `
- { name: orders, dialect: order-service, table: orders.outbox, people: true }
- { name: wallet, dialect: wallet-hub, table: public.wallet_outbox, people: true, aggregate: { type: CUSTOMER, id_path: customerId } }
`)
	h.env = append(h.env, "PATH="+h.dir+":"+binaries+":"+os.Getenv("PATH"), "OUTBOX_SOURCES="+filepath.Join(h.dir, "sources.yaml"))
	h.starter("migrate", "up")
	h.exec(otherOutboxes)
	h.starter("source", "migrate", "orders")
	h.starter("source", "migrate", "wallet")
	h.starter("seed", "--slack-url", h.sandbox.URL)
	h.startAll()
	h.save("promotion.json", `{"restaurant": "Trattoria", "discount": 15}`)
	h.sent = h.event("RESERVATION_REQUESTED", "evt-sent")
	h.allSent("evt-sent", 9)
	return h
}

func (h *help) save(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o700))
}

// examples returns the examples of a command and its subcommands. It joins lines that end with a
// backslash.
func (h *help) examples(command ...string) []string {
	h.t.Helper()
	text := h.program(command[0], append(command[1:len(command):len(command)], "--help")...)
	var found []string
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "\\\r")) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "\\\r", "\\\n"))
		name, _, _ := strings.Cut(line, " ")
		switch {
		case strings.HasSuffix(line, ":"):
			section = line
		case line == "":
		case section == "Examples:":
			found = append(found, line)
		case section == "Available Commands:" && name != "help" && name != "completion":
			found = append(found, h.examples(append(command[:len(command):len(command)], name)...)...)
		}
	}
	return found
}

// helpStates are the states that examples need, by the beginning of the example: an event whose
// e-mail waits or failed, that waits for approval, or that is FAILED in the outbox. Other examples
// use a sent event.
var helpStates = []struct {
	begins  string
	prepare func(h *help) (event string)
}{
	{"starter channel resume sendgrid --sender", (*help).paused},
	{"starter delivery cancel evt-1", (*help).waiting},
	{"starter delivery reschedule evt-1", (*help).waiting},
	{"starter delivery send-now evt-1", (*help).waiting},
	{"starter delivery retry evt-1-staff10-EMAIL --again", func(h *help) string { return h.sent }},
	{"starter delivery retry evt-1", (*help).failed},
	{"starter event approve evt-1", (*help).unapproved},
	{"starter event reject evt-1", (*help).unapproved},
	{"starter event cancel evt-1", (*help).waiting},
	{"starter event retry evt-1", (*help).unstartable},
	{"starter seed", (*help).unseeded},
	{"demo --sandbox-url", (*help).polled},
	{"starter source retry wallet", (*help).failedRows},
	{"starter rules", (*help).exported},
}

// event writes an event of restaurant 5.
func (h *help) event(eventType, name string) string {
	h.t.Helper()
	return h.emit(h.name+"-"+name, eventType, "RESTAURANT/5", "{}")
}

// waiting writes an event whose e-mail is due a day later.
func (h *help) waiting() string {
	h.t.Helper()
	postgrestest.AddMissing(h.t, h.store.Pool, postgrestest.Route{EventType: "LATER", Strategy: notification.Delayed, Delay: 24 * time.Hour})
	id := h.event("LATER", "evt-"+randomWord(8))
	h.awaitDelivery(id+"-staff10-EMAIL", "PENDING")
	h.awaitBegun(id + "-staff10-EMAIL") // the example signals the workflow, which starts after the row exists
	return id
}

// unapproved writes an event that waits for approval, and that nobody emitted.
func (h *help) unapproved() string {
	h.t.Helper()
	postgrestest.AddMissing(h.t, h.store.Pool, postgrestest.Approval{EventType: "RECALL"}, postgrestest.Route{EventType: "RECALL"})
	id := h.name + "-evt-" + randomWord(8)
	h.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) `+
		`VALUES ($1, 'RECALL', 'RESTAURANT', '5', '{}')`, id)
	h.awaitCount(1, "SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'AWAITING_APPROVAL'", id)
	return id
}

func (h *help) failed() string {
	h.t.Helper()
	h.fault("email", `{"status": 400}`)
	id := h.event("RESERVATION_REQUESTED", "evt-"+randomWord(8))
	h.awaitDelivery(id+"-staff10-EMAIL", "FAILED")
	h.mend()
	return id
}

func (h *help) unstartable() string {
	h.t.Helper()
	id := h.name + "-evt-" + randomWord(8)
	h.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, attempt_count)
		VALUES ($1, 'MENU_UPDATED', 'RESTAURANT', '5', '{}', 10)`, id)
	h.awaitCount(1, "SELECT count(*) FROM event_outbox WHERE event_id = $1 AND status = 'FAILED'", id)
	return id
}

// failedRows creates the failed rows 7 and 9 of the wallet.
func (h *help) failedRows() string {
	h.t.Helper()
	h.fill(
		postgrestest.SourceRow{Source: "wallet", Key: "7", EventID: "wallet-7", Error: "too large", FailedAt: time.Now()},
		postgrestest.SourceRow{Source: "wallet", Key: "9", EventID: "wallet-9", Error: "too large", FailedAt: time.Now()})
	return h.sent
}

// exported writes the rules into the folder that the examples name.
func (h *help) exported() string {
	h.t.Helper()
	h.starter("rules", "export", filepath.Join(h.dir, "rules"))
	return h.sent
}

// polled starts the poller.
func (h *help) polled() string {
	h.t.Helper()
	h.starter("poller", "start")
	return h.sent
}

// paused pauses the sender of the example.
func (h *help) paused() string {
	h.t.Helper()
	h.exec(`INSERT INTO sender_state (channel, provider, sender, paused_at) VALUES ('EMAIL', 'sendgrid', 'news@example.com', now())`)
	return h.sent
}

// unseeded deletes the example, because `seed` without flags overwrites nothing.
func (h *help) unseeded() string {
	h.t.Helper()
	h.exec(`TRUNCATE recipient, recipient_device, entity_member, event_type_recipients, event_type_channel_routing, event_type_escalation,
	                 entity_notification_settings, user_notification_preferences`)
	return h.sent
}

var (
	exampleEvent = regexp.MustCompile(`\bevt-1\b`)
	exampleTime  = regexp.MustCompile(`--at \S+`)
	exampleRun   = regexp.MustCompile(`--run-id \S+`)
)

// helpValues replaces an example's values with values of this installation.
func (h *help) helpValues(example, event string) string {
	command := exampleEvent.ReplaceAllString(example, event)
	command = strings.ReplaceAll(command, "http://127.0.0.1:9090", h.sandbox.URL)
	command = strings.ReplaceAll(command, "--count 100", "--count 2") // enough for a broadcast
	command = exampleTime.ReplaceAllString(command, "--at "+time.Now().Add(time.Hour).Format(time.RFC3339))
	if exampleRun.MatchString(command) {
		description := must(h.temporal.DescribeWorkflow(h.t.Context(), event+"-staff10-EMAIL", ""))(h.t)
		command = exampleRun.ReplaceAllString(command, "--run-id "+description.WorkflowExecution.RunID)
	}
	return command
}

// try runs an example, which must succeed.
func (h *help) try(example string) {
	h.t.Helper()
	event := h.sent
	for _, state := range helpStates {
		if strings.HasPrefix(example, state.begins) {
			event = state.prepare(h)
			break
		}
	}
	command := h.helpValues(example, event)
	switch {
	case strings.HasPrefix(command, "sandbox --"), strings.HasPrefix(command, "starter console"):
		h.answers(command)
		return
	case strings.HasPrefix(command, "temporal "): // Temporal's CLI: what it would print
		h.save("history.json", h.historyJSON(event))
		h.save("temporal", "#!/bin/sh\ncat history.json\n")
	}
	cmd := exec.CommandContext(h.t.Context(), "bash", "-euc", command)
	cmd.Dir, cmd.Env = h.dir, h.env
	out, err := cmd.CombinedOutput()
	checkTimes(h.t, command, string(out))
	if want, preview := helpPreviews[example]; preview {
		require.Error(h.t, err)
		require.Contains(h.t, string(out), want)
		return
	}
	require.NoError(h.t, err, "$ %s\n%s", command, out)
}

// helpPreviews are the examples that only print a preview without --yes, or that need a second
// secret, workers of another generation, or the records of a real domain.
var helpPreviews = map[string]string{
	"starter check --domain example.com --dkim-selector mail": "domain example.com",
	"starter migrate down":                 "repeat with --yes to do it",
	"starter secret rekey":                 "HERALD_SECRET_PREVIOUS is not set",
	"starter workers promote 3 --rollback": "no worker of generation 3 has polled",
	"starter secret rekey --dry-run":       "HERALD_SECRET_PREVIOUS is not set",
	"starter suppression remove --channel EMAIL --address ada@example.com": "repeat with --yes to remove it",
}

var serverAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// answers runs an example's server on a free port until it answers.
func (h *help) answers(command string) {
	h.t.Helper()
	cmd := exec.Command("bash", "-euc", "exec "+command+" --addr 127.0.0.1:0")
	cmd.Dir, cmd.Env = h.dir, h.env
	w := h.start(cmd)
	h.eventually(func() bool {
		answer, err := http.Get(serverAddress.FindString(w.output.String()) + "/")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, "%s does not answer", command)
	require.NoError(h.t, w.stop(), "%s", w.output)
}

// emittedAreSent requires that events from the examples of `starter emit` were delivered.
func (h *help) emittedAreSent() {
	h.t.Helper()
	h.starter("poller", "start")
	h.awaitCount(3, "SELECT count(*) FROM event_outbox o JOIN processed_event p USING (event_id) WHERE o.event_id LIKE 'evt-%' "+
		"AND p.status = 'SUCCESS'")
	require.Zero(h.t, h.count("SELECT count(*) FROM notification WHERE event_id LIKE 'evt-%' AND status <> 'SENT'"))
	require.Positive(h.t,
		h.count("SELECT count(*) FROM notification WHERE event_id LIKE 'evt-%' AND event_type = 'RESERVATION_REQUESTED' AND channel = 'EMAIL'"))
}

var (
	// oneForm matches the times that starter may print: a moment in UTC; the time in a zone, and
	// quiet hours in it; RFC 3339 in JSON; a value for --at; and a producer's id that contains
	// a time.
	oneForm = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z\b` +
		`|\b(\d{4}-\d\d-\d\d \d\d:\d\d|` + clockForm + `(-` + clockForm + `)?) (UTC|[A-Z][A-Za-z]+(/[A-Z][A-Za-z_]+)+)\b` +
		`|"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"` +
		`|(--at|such as) \S+` +
		`|\w-\d{4}-\d\d-\d\dT\d\d:\d\d\b`)
	// anyTime matches every text that looks like a time.
	anyTime = regexp.MustCompile(`\S*(?:\b\d{4}-\d\d-\d\d|(?:\b|T)\d\d?:\d\d(?:\D|$)|\b\d\d?/\d\d?/\d\d|\b\d\d? (?:` + months + `)\b|\b(?:` +
		months + `) \d)\S*`)
	// notOurs matches commands that print other times: help contains values of flags, messages
	// contain times from payloads, and an export has rows as the database prints them.
	notOurs = regexp.MustCompile(`--help\b|^(starter )?(template preview|event simulate|recipient export)\b`)
)

const (
	clockForm = `\d\d:\d\d(:\d\d(\.\d+)?)?`
	months    = `Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec`
)

// otherTimes returns the times in an output that do not match oneForm.
func otherTimes(output string) []string {
	return anyTime.FindAllString(oneForm.ReplaceAllString(output, "(time)"), -1)
}

// checkTimes fails the test if a command printed a time in another format. It checks every
// command that a test of this package runs.
func checkTimes(t *testing.T, command, output string) {
	t.Helper()
	if !notOurs.MatchString(command) {
		assert.Empty(t, otherTimes(output), "a time in another format: $ %s\n%s", command, output)
	}
}

func TestOtherTimes(t *testing.T) {
	t.Parallel()

	for _, allowed := range []string{
		"", "sent  2026-11-22 10:00:05.000Z", "at 2026-11-22 10:00:05.123Z: it was quiet", "until 08:00 Europe/Rome: quiet hours",
		"23:14 UTC now",
		"2026-11-23 08:00 America/Argentina/Buenos_Aires", "22:00-07:00 Europe/Rome, it is 23:14 Europe/Rome now", "00:00:00.000001-00:00 UTC",
		`"sent_at": "2026-11-22T10:00:05.1234Z"`, "--at 2026-11-22T08:00:00+01:00", "a time such as 2026-11-21T08:00:00Z",
		"127.0.0.1:17000", "took 1m30s", "01a1fdf8-e7a5-7c35-a319-87e145d0aa47", "projects/p/messages/0:1764", "1 of 12/14 3",
		"demo-RES-REQ-123-2025-01-20T10:30-staff10-EMAIL",
	} {
		require.Empty(t, otherTimes(allowed), allowed)
	}
	for _, other := range []string{
		"2026-11-22 10:00:05Z", "2026-11-22 10:00:05.000", "2026-11-22 10:00:05.123456Z", "2026-11-22T10:00:05Z", "2026-11-22T10:00:05.000Z",
		"2026-11-22T11:00+01:00",
		"2026-11-22", "10:00:05.123", "it is 03:58 there now", "quiet until 07:00", "22:00-07:00", "22:00-07:00, priority", "10:00Z",
		"9:30 Europe/Rome", "3:04PM",
		"22 Nov", "Nov 22, 2026", "22/11/2026", "2026-11-22 10:00:05.000Z07:00", "2026-11-22 10:00:05 +0000 UTC", "2026-11-22 08:00 Z",
		"2026-11-22 10:00:05 UTC",
	} {
		require.NotEmpty(t, otherTimes(other), other)
	}
}
