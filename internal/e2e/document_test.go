package e2e_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeDocs makes TestOperations and TestYourOwn write the output of commands into their document.
var writeDocs = flag.Bool("write-docs", false, "write the output of commands into the document")

// document is a page of the documentation, in passages.
type document struct {
	file  string
	parts []passage
}

// passage is a heading, a command with its output, the text of another block, or text.
type passage struct {
	heading  string // of a situation, `## 1. …`
	isBlock  bool   // in a fenced block
	language string // of the block: sh, sql, console; empty: ASCII art
	command  string // of a console, without the prompt; may have several lines
	output   string
	text     string // unchanged
}

var situationHeading = regexp.MustCompile(`^## \d+\. `)

// readDocument reads a document, named by its path in the repository.
func readDocument(t *testing.T, path string) document {
	t.Helper()
	d := document{file: filepath.Join("../..", path)}
	source := string(must(os.ReadFile(d.file))(t))
	inBlock, language := false, ""
	for line := range strings.Lines(source) {
		last := len(d.parts) - 1
		word, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence:
			inBlock, language = !inBlock, strings.TrimSpace(word)
			d.parts = append(d.parts, passage{text: line})
			if inBlock && language != "console" {
				d.parts = append(d.parts, passage{isBlock: true, language: language})
			}
		case !inBlock && situationHeading.MatchString(line):
			d.parts = append(d.parts, passage{heading: strings.TrimSpace(strings.TrimPrefix(line, "## ")), text: line})
		case !inBlock:
			d.parts = append(d.parts, passage{text: line})
		case language != "console":
			d.parts[last].text += line
		case strings.HasPrefix(line, "$ "):
			d.parts = append(d.parts, passage{isBlock: true, language: language, command: strings.TrimPrefix(line, "$ ")})
		case d.parts[last].output == "" && strings.HasSuffix(d.parts[last].command, "\\\n"):
			d.parts[last].command += line
		default:
			d.parts[last].output += line
		}
	}
	require.False(t, inBlock, "%s ends within a block", path)
	require.Equal(t, source, d.text(), "the parts of %s do not add up to its text", path)
	return d
}

func (d document) text() string {
	var text strings.Builder
	for _, part := range d.parts {
		if part.command != "" {
			text.WriteString("$ " + part.command + part.output)
		} else {
			text.WriteString(part.text)
		}
	}
	return text.String()
}

// write writes the document with -write-docs.
func (d document) write(t *testing.T) {
	t.Helper()
	if *writeDocs {
		require.NoError(t, os.WriteFile(d.file, []byte(d.text()), 0o644))
	}
}

// codeBlocks returns the fenced blocks of a document, in order, and the commands of its consoles.
func codeBlocks(t *testing.T, path string) (blocks []passage) {
	t.Helper()
	for _, part := range readDocument(t, path).parts {
		if part.isBlock {
			blocks = append(blocks, part)
		}
	}
	return blocks
}

// runnable returns the sh and sql blocks, which a reader would run.
func runnable(t *testing.T, path string) (texts []string) {
	t.Helper()
	for _, block := range codeBlocks(t, path) {
		if block.language == "sh" || block.language == "sql" {
			texts = append(texts, block.text)
		}
	}
	return texts
}
