package e2e_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeDocs makes TestOperations and TestYourOwn write the output of commands into their document.
var writeDocs = flag.Bool("write-docs", false, "write the output of commands into the document")

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
