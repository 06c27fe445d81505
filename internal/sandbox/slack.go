package sandbox

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"herald/internal/notification"
)

var slack = provider{channel: notification.Slack, judge: judgePost, refuse: refusePost}

// Slack's limits. https://docs.slack.dev/reference/block-kit/blocks
const (
	maxBlocks    = 50
	maxBlockID   = 255  // characters
	maxBlockText = 3000 // characters
)

// slackPost is what the sandbox reads of a webhook's payload.
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

// judgePost answers as POST /services/{team}/{app}/{secret}.
func judgePost(r *http.Request, body []byte) (message, answer) {
	var post slackPost
	err := json.Unmarshal(body, &post)
	msg := post.message()
	msg.recipient = r.URL.Path
	switch code := webhookFlaw(r.PathValue("path")); {
	case code != 0:
		return msg, refusePost(code)
	case err != nil || !hasMediaType(r, "application/json"):
		return msg, saySlack(http.StatusBadRequest, "invalid_payload")
	case post.Text == "" && len(post.Blocks) == 0:
		return msg, saySlack(http.StatusBadRequest, "no_text")
	case !validBlocks(post.Blocks):
		return msg, saySlack(http.StatusBadRequest, "invalid_blocks")
	default:
		return msg, saySlack(http.StatusOK, "ok")
	}
}

// message shows what a reader sees: the blocks, or without them the text.
func (p *slackPost) message() message {
	msg := message{title: p.Text, body: p.Text}
	if len(p.Blocks) == 0 {
		return msg
	}
	msg.deliveryID = p.Blocks[0].BlockID
	var texts []string
	for _, block := range p.Blocks {
		if block.Text != nil {
			texts = append(texts, block.Text.Text)
		}
	}
	msg.body = strings.Join(texts, "\n")
	return msg
}

// webhookFlaw returns the status that a webhook answers with because of its
// own path, or 0. The last segment says what is the matter with it.
func webhookFlaw(path string) int {
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

// refusePost is Slack's answer to a post as a whole.
func refusePost(status int) answer {
	switch status {
	case http.StatusForbidden:
		return saySlack(status, "invalid_token")
	case http.StatusNotFound:
		return saySlack(status, "no_service")
	case http.StatusGone:
		return saySlack(status, "channel_is_archived")
	case http.StatusTooManyRequests:
		return saySlack(status, "rate_limited")
	case http.StatusInternalServerError:
		return saySlack(status, "rollup_error")
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return saySlack(status, "invalid_payload")
	default:
		return saySlack(status, http.StatusText(status))
	}
}

func saySlack(status int, text string) answer {
	return answer{status: status, header: map[string]string{"Content-Type": "text/html"}, body: []byte(text)}
}
