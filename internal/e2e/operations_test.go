package e2e_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeDocs makes TestOperations write the commands' output into the document.
var writeDocs = flag.Bool("write-docs", false, "write the commands' output into docs/operations.md")

const operationsDoc = "../../docs/operations.md"

// TestOperations runs every command of docs/operations.md in order and compares its output
// with the document's, apart from what changes with each run: times, run ids, time zones,
// progress.
//
// To update the document: go test ./internal/e2e -run TestOperations -write-docs
func TestOperations(t *testing.T) {
	t.Parallel()

	source, err := os.ReadFile(operationsDoc)
	require.NoError(t, err)
	parts := parseBook(string(source))
	require.Equal(t, string(source), parts.String(), "the document is not read as it stands")
	require.Len(t, parts.situations(), len(situations), "a situation without a preparation, or the reverse")
	n := newNightShift(t)
	for i, part := range parts {
		switch {
		case part.heading != "":
			prepare, known := situations[part.heading]
			require.True(t, known, "no preparation for %q", part.heading)
			prepare(n)
		case part.command != "":
			parts[i].output = n.expectOutput(part)
		}
	}
	if *writeDocs {
		require.NoError(t, os.WriteFile(operationsDoc, []byte(parts.String()), 0o644))
	}
}

// bookPart is a part of the document: a heading, a command with its output, or text.
type bookPart struct {
	heading string // of a situation
	command string // without the prompt; may be of several lines
	output  string
	text    string // as it stands
}

type book []bookPart

var situationHeading = regexp.MustCompile(`^## \d+\. `)

// parseBook finds the situations, `## 1. …`, and the commands in blocks of ```console.
func parseBook(source string) book {
	var parts book
	inBlock := false
	for line := range strings.Lines(source) {
		last := len(parts) - 1
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = strings.HasPrefix(line, "```console")
			parts = append(parts, bookPart{text: line})
		case !inBlock && situationHeading.MatchString(line):
			parts = append(parts, bookPart{heading: strings.TrimSpace(strings.TrimPrefix(line, "## ")), text: line})
		case !inBlock:
			parts = append(parts, bookPart{text: line})
		case strings.HasPrefix(line, "$ "):
			parts = append(parts, bookPart{command: strings.TrimPrefix(line, "$ ")})
		case parts[last].output == "" && strings.HasSuffix(parts[last].command, "\\\n"):
			parts[last].command += line
		default:
			parts[last].output += line
		}
	}
	return parts
}

func (b book) situations() []string {
	var headings []string
	for _, part := range b {
		if part.heading != "" {
			headings = append(headings, part.heading)
		}
	}
	return headings
}

func (b book) String() string {
	var text strings.Builder
	for _, part := range b {
		if part.command != "" {
			text.WriteString("$ " + part.command + part.output)
		} else {
			text.WriteString(part.text)
		}
	}
	return text.String()
}

const (
	// settle is how long a command may take to show the expected state.
	settle = 2 * time.Minute
	// settleToWrite is the same with -write-docs, when the document may be wrong.
	settleToWrite = 30 * time.Second
)

// looking matches commands that change nothing, so that they can be repeated until they
// show what the document says.
var looking = regexp.MustCompile(`^starter (status|audit|event (list|show)|delivery (list|show|why)|poller status|replay)\b|--dry-run\b`)

// expectOutput runs a command of the document and returns its output, which must be the
// document's. A command that changes something runs only once.
func (n *nightShift) expectOutput(part bookPart) string {
	n.t.Helper()
	patience := settle
	if *writeDocs {
		patience = settleToWrite
	}
	var got string
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		got = n.shell(part.command)
		if comparable(got) == comparable(part.output) {
			return part.output
		}
		if !looking.MatchString(part.command) || time.Now().After(deadline) {
			break
		}
	}
	if !*writeDocs {
		require.Equal(n.t, comparable(part.output), comparable(got), "$ %s", part.command)
	}
	return noise.ReplaceAllString(got, "")
}

// noise are lines that come and go: progress, where it takes longer, and what other tests
// are running.
var noise = regexp.MustCompile(`(?m)^(\d[\d,]* of \d[\d,]* |warning: other installations ).*\n`)

// changing are the texts that change with each run, and what replaces them.
var changing = []struct {
	pattern *regexp.Regexp
	stand   string
}{
	{regexp.MustCompile(`(?m)^last sweep .*\n`), ""},                           // one may come at any time
	{regexp.MustCompile(`(?m)\b\d+ events$|\bevent \d+( of \d+)?$`), "EVENTS"}, // of a history
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "RUN"},
	{regexp.MustCompile(`\b(SM[0-9a-f]{32}|[A-Z2-7]{26})\b`), "MESSAGE"},
	{regexp.MustCompile(`\b\d+@\S+`), "WORKER"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d(\.\d+)?)?Z?\b`), "CLOCK"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|µs|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b(` + strings.Join(nightZones, "|") + `)\b`), "ZONE"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// comparable returns an output without what changes with each run.
func comparable(output string) string {
	output = noise.ReplaceAllString(output, "")
	for _, c := range changing {
		output = c.pattern.ReplaceAllString(output, c.stand)
	}
	return strings.TrimSpace(output)
}
