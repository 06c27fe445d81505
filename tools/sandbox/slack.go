package sandbox

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"herald/internal/notification"
)

var slack = provider{
	name: "Slack", channel: notification.Slack, fault: notification.Slack, route: "POST /services/{path...}", handle: handlePost,
	reject: rejectPost,
}

// Slack's limits. https://docs.slack.dev/reference/block-kit/blocks
const (
	maxBlocks    = 50
	maxBlockID   = 255  // characters
	maxBlockText = 3000 // characters
)

// slackPost is the part of a webhook's payload that the sandbox reads.
type slackPost struct {
	Text   string       `json:"text"`
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type    string     `json:"type"`
	BlockID string     `json:"block_id"`
	Text    *slackText `json:"text"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// handlePost answers POST /services/{team}/{app}/{secret} like Slack.
func handlePost(r *http.Request, body []byte, _ bool) (Entry, response) {
	var post slackPost
	err := json.Unmarshal(body, &post)
	entry := post.entry()
	entry.Recipient = r.URL.Path
	switch status := webhookStatus(r.PathValue("path")); {
	case status != 0:
		return entry, rejectPost(status)
	case err != nil || !hasMediaType(r, "application/json"):
		return entry, replyText(http.StatusBadRequest, "invalid_payload")
	case post.Text == "" && len(post.Blocks) == 0:
		return entry, replyText(http.StatusBadRequest, "no_text")
	case !validBlocks(post.Blocks):
		return entry, replyText(http.StatusBadRequest, "invalid_blocks")
	default:
		return entry, replyText(http.StatusOK, "ok")
	}
}

// entry returns the text that the reader sees: the blocks, or the text without blocks.
func (p *slackPost) entry() Entry {
	entry := Entry{Title: p.Text, Body: p.Text}
	if len(p.Blocks) == 0 {
		return entry
	}
	entry.DeliveryID = p.Blocks[0].BlockID
	var texts []string
	for _, block := range p.Blocks {
		if block.Text != nil {
			texts = append(texts, block.Text.Text)
		}
	}
	entry.Body = strings.Join(texts, "\n")
	return entry
}

// webhookStatus returns the error status of a broken webhook, or 0 for a working webhook. The
// last segment of the path selects the error.
func webhookStatus(path string) int {
	segments := strings.Split(path, "/")
	secret := segments[len(segments)-1]
	switch {
	case len(segments) != 3 || slices.Contains(segments, "") || strings.HasPrefix(secret, "none"):
		return http.StatusNotFound
	case strings.HasPrefix(secret, "invalid"):
		return http.StatusForbidden
	case strings.HasPrefix(secret, "archived"):
		return http.StatusGone
	default:
		return 0
	}
}

func validBlocks(blocks []slackBlock) bool {
	ids := map[string]bool{}
	for _, block := range blocks {
		if block.Type == "" || utf8.RuneCountInString(block.BlockID) > maxBlockID || ids[block.BlockID] {
			return false
		}
		if block.BlockID != "" {
			ids[block.BlockID] = true
		}
		if block.Text != nil && !block.Text.valid() {
			return false
		}
	}
	return len(blocks) <= maxBlocks
}

func (t *slackText) valid() bool {
	length := utf8.RuneCountInString(t.Text)
	return (t.Type == "mrkdwn" || t.Type == "plain_text") && length >= 1 && length <= maxBlockText
}

// slackErrors are Slack's error texts by status.
var slackErrors = map[int]string{
	http.StatusBadRequest:            "invalid_payload",
	http.StatusRequestEntityTooLarge: "invalid_payload",
	http.StatusForbidden:             "invalid_token",
	http.StatusNotFound:              "no_service",
	http.StatusGone:                  "channel_is_archived",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusInternalServerError:   "rollup_error",
}

// rejectPost returns Slack's response to a post that it rejects as a whole.
func rejectPost(status int) response {
	return replyText(status, cmp.Or(slackErrors[status], http.StatusText(status)))
}
