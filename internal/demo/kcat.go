package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Kcat reads topics by kcat, a consumer that shares no code with Herald's producer.
type Kcat struct {
	Brokers string // host:port, with commas between them
}

const (
	// kcatTimeout bounds the reading of one topic.
	kcatTimeout = 15 * time.Second
	// maxMessages bounds what is read of a topic: a thousand times what the example writes.
	maxMessages = "10000"
)

// message is a message as `kcat -J` prints it.
type message struct {
	Topic   string   `json:"topic"`
	Key     *string  `json:"key"`
	Payload *string  `json:"payload"`
	Headers []string `json:"headers"` // name, value, name, value …
}

// header is the value of a header; empty: there is none.
func (m message) header(name string) string {
	for i := 0; i+1 < len(m.Headers); i += 2 {
		if m.Headers[i] == name {
			return m.Headers[i+1]
		}
	}
	return ""
}

// since reads the messages that came to a topic from a time on. It fails where kcat is
// missing, or the topic.
func (k Kcat) since(ctx context.Context, topic string, from time.Time) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, kcatTimeout)
	defer cancel()
	// Neither the reader's own settings nor progress: -F and -q. -e ends at the end of the topic.
	cmd := exec.CommandContext(ctx, "kcat", "-F", "/dev/null", "-q", "-b", k.Brokers, "-C", "-t", topic, "-o", "s@"+strconv.FormatInt(from.UnixMilli(), 10), "-e", "-c", maxMessages, "-J")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		said := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, fmt.Errorf("kcat cannot read %s: %s", topic, said[len(said)-1])
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", topic, err)
	}
	var messages []message
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var m message
		if decoder.Decode(&m) != nil {
			return nil, fmt.Errorf("message %d that kcat printed of %s cannot be read", len(messages)+1, topic) // the cause may quote it
		}
		messages = append(messages, m)
	}
	return messages, nil
}
