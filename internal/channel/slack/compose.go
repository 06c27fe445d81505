package slack

import (
	"encoding/json"
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
	// Verbatim prevents Slack from turning bare URLs and names into links and mentions.
	Verbatim bool `json:"verbatim"`
}

// compose builds the message: the title in bold, then the body. The first block has the delivery
// id. It returns false if the message is too long for Slack.
func compose(msg notification.Message) ([]byte, bool) {
	title, rest := cut(msg.Title, blockTextLimit-len("**\n"))
	if rest != "" {
		return nil, false
	}
	opening := ""
	if title != "" {
		opening = "*" + title + "*\n"
	}
	var blocks []block
	for body := msg.Body; ; opening = "" {
		var part string
		part, body = cut(body, blockTextLimit-utf8.RuneCountInString(opening))
		blocks = append(blocks, block{Type: "section", Text: textObject{Type: "mrkdwn", Text: opening + part, Verbatim: true}})
		if body == "" {
			break
		}
	}
	if len(blocks) > blocksLimit {
		return nil, false
	}
	blocks[0].BlockID = channel.FitID(msg.DeliveryID, blockIDLimit)
	encoded, err := json.Marshal(payload{Text: title, Blocks: blocks})
	return encoded, err == nil
}

// cut escapes the part of s that fits into limit characters, and returns the rest unescaped.
func cut(s string, limit int) (escaped, rest string) {
	var b strings.Builder
	for i, r := range s {
		char := escape(r)
		if limit -= utf8.RuneCountInString(char); limit < 0 {
			return b.String(), s[i:]
		}
		b.WriteString(char)
	}
	return b.String(), ""
}

// escape makes a character harmless: <!channel> in a name would ping everyone.
func escape(r rune) string {
	switch r {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	default:
		return string(r)
	}
}
