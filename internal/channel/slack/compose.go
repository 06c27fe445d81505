package slack

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Slack's limits. https://docs.slack.dev/reference/block-kit/blocks
const (
	blockIDLimit   = 255  // characters
	blockTextLimit = 3000 // characters
	blocksLimit    = 50
)

type payload struct {
	Text   string  `json:"text"` // for the pop-up; the blocks hold the message itself
	Blocks []block `json:"blocks"`
}

type block struct {
	Type    string     `json:"type"`
	BlockID string     `json:"block_id,omitempty"`
	Text    textObject `json:"text"`
}

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Verbatim prevents Slack from finding mentions in the text. Links are in markup already.
	Verbatim bool `json:"verbatim"`
}

// compose builds the message: the title in bold, as a link if the message leads somewhere, then the
// body, which is in Slack's markup. The first block has the delivery id. It returns false if the message
// is too long for Slack.
func compose(msg notification.Message) ([]byte, bool) {
	title := escape.Replace(msg.Title)
	opening := ""
	switch {
	case msg.URL != "":
		opening = "*<" + escape.Replace(strings.ReplaceAll(msg.URL, "|", "%7C")) + "|" + cmp.Or(title, "Open") + ">*\n"
	case title != "":
		opening = "*" + title + "*\n"
	}
	if utf8.RuneCountInString(opening) > blockTextLimit {
		return nil, false
	}
	var blocks []block
	for body := msg.Body; ; opening = "" {
		part, rest := cut(body, blockTextLimit-utf8.RuneCountInString(opening))
		blocks = append(blocks, block{Type: "section", Text: textObject{Type: "mrkdwn", Text: opening + part, Verbatim: true}})
		if rest == "" {
			break
		}
		if len(rest) == len(body) && opening == "" || len(blocks) == blocksLimit {
			return nil, false
		}
		body = rest
	}
	blocks[0].BlockID = channel.FitID(msg.DeliveryID, blockIDLimit)
	encoded, err := json.Marshal(payload{Text: title, Blocks: blocks})
	return encoded, err == nil
}

// whole matches what must not be cut: an escaped character, a link or a mention, a character.
var whole = regexp.MustCompile(`^(?:&\w+;|<[^<>]*>|(?s:.))`)

// cut returns the part of a text in Slack's markup that fits into limit characters, and the rest.
func cut(text string, limit int) (part, rest string) {
	for rest = text; rest != ""; {
		next := whole.FindString(rest)
		if limit -= utf8.RuneCountInString(next); limit < 0 {
			break
		}
		rest = rest[len(next):]
	}
	return text[:len(text)-len(rest)], rest
}

// escape makes a text harmless: <!channel> in a name would ping everyone.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
