package e2e_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const yourOwnDoc = "../../docs/your-own.md"

// TestYourOwn follows docs/your-own.md like a newcomer, from an empty database, and compares the
// output of the commands with the document.
//
// To update the document: go test ./internal/e2e -run TestYourOwn -write-docs
func TestYourOwn(t *testing.T) {
	t.Parallel()

	n := newNewcomer(t)
	source := must(os.ReadFile(yourOwnDoc))(t)
	parts := parseBook(string(source))
	require.Equal(t, string(source), parts.String(), "the document is not read as it stands")
	blocks := codeBlocks(t, "docs/your-own.md")
	for i, part := range parts {
		if part.command != "" {
			parts[i].output = n.expectOutput(part)
			continue
		}
		if !strings.HasPrefix(part.text, "```") || part.text == "```\n" {
			continue
		}
		block := blocks[0]
		blocks = blocks[1:]
		switch block.language {
		case "sh":
			n.reader.shell(n.before + n.own(block.text))
		case "sql":
			n.exec(n.own(block.text))
		}
	}
	if *writeDocs {
		require.NoError(t, os.WriteFile(yourOwnDoc, []byte(parts.String()), 0o644))
	}
}

// newcomer is the reader of docs/your-own.md. Later commands have the variables that earlier
// commands exported.
type newcomer struct {
	*desk
	reader *reader
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{desk: newDesk(t, "clinic")}
	n.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	n.more = [2]string{"127.0.0.1:9090", freeAddress(t)}
	n.before = "[ ! -e exports ] || . ./exports; trap 'export -p > exports' EXIT\n"
	n.env = append(n.env, "WORKER_HTTP_ADDR=127.0.0.1:0")
	n.reader = n.system.reader(n.dir)
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { require.NoError(t, listener.Close()) }()
	return fmt.Sprint(listener.Addr())
}
