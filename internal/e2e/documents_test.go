package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// codeBlock is a fenced block of a document.
type codeBlock struct {
	language string // sh, sql; empty: a picture in letters
	text     string
}

// codeBlocks returns the fenced blocks of a document, in order.
func codeBlocks(t *testing.T, document string) []codeBlock {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("../..", document))
	require.NoError(t, err)
	var blocks []codeBlock
	inBlock := false
	for line := range strings.Lines(string(source)) {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inBlock:
			blocks = append(blocks, codeBlock{language: strings.TrimSpace(language)})
			inBlock = true
		case fence:
			inBlock = false
		case inBlock:
			blocks[len(blocks)-1].text += line
		}
	}
	require.False(t, inBlock, "%s ends within a block", document)
	return blocks
}

// runnable returns the blocks that a reader would run.
func runnable(t *testing.T, document string) []string {
	t.Helper()
	var texts []string
	for _, block := range codeBlocks(t, document) {
		if block.language == "sh" || block.language == "sql" {
			texts = append(texts, block.text)
		}
	}
	return texts
}
