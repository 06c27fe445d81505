package replaytest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
)

// Read reads a history from a file.
func Read(path string) ([]*historypb.HistoryEvent, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read.GetEvents(), nil
}

// write returns a history as JSON with one event in a line.
func write(events []*historypb.HistoryEvent) ([]byte, error) {
	lines := make([]string, len(events))
	for i, event := range events {
		line, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(event)
		if err != nil {
			return nil, err
		}
		lines[i] = string(line)
	}
	return []byte("{\"events\": [\n" + strings.Join(lines, ",\n") + "\n]}\n"), nil
}

// Payloads returns the contents of all payloads of a history, and whether all are readable.
func Payloads(ctx context.Context, events []*historypb.HistoryEvent) (text string, readable bool, err error) {
	var contents strings.Builder
	readable = true
	err = proxy.VisitPayloads(ctx, &historypb.History{Events: events}, proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, payload := range payloads {
				readable = readable && string(payload.GetMetadata()["encoding"]) != "binary/encrypted"
				contents.Write(payload.GetData())
				contents.WriteByte('\n')
			}
			return payloads, nil
		},
	})
	return contents.String(), readable, err
}

// personal matches addresses of people: of e-mails and of telephones. An actor such as root@host is none.
var personal = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+|\+\d{7,15}\b`)

// messageID matches the Message-ID of an e-mail by SMTP, which names nobody.
var messageID = regexp.MustCompile(`\b[0-9a-f]{32}@[\w.-]+`)

// files matches names of folders and files of the machine that recorded a history.
var files = regexp.MustCompile(`(/home|/root|/tmp|/var|/Users|/work)/\S+|\w+\.go:\d+`)

// wordLength is the length from which a host's name is no ordinary word.
const wordLength = 8

// Private returns what others must not read in a history: addresses of people, and paths and the
// name of this machine.
func Private(ctx context.Context, events []*historypb.HistoryEvent) ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return private(ctx, events, host)
}

func private(ctx context.Context, events []*historypb.HistoryEvent, host string) ([]string, error) {
	events = clean(events)
	text, _, err := Payloads(ctx, events)
	if err != nil {
		return nil, err
	}
	written, err := write(events)
	if err != nil {
		return nil, err
	}
	text = messageID.ReplaceAllString(text+string(written), "")
	found := append(personal.FindAllString(text, -1), files.FindAllString(text, -1)...)
	if len(host) >= wordLength && strings.Contains(text, host) {
		found = append(found, host)
	}
	return found, nil
}
