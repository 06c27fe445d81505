package slack

import (
	"net/http"
	"slices"
	"strings"

	"herald/internal/notification"
)

// codes are Slack's codes. Errors show no other text of an answer.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
var codes = []string{
	"action_prohibited", "channel_is_archived", "channel_not_found", "invalid_blocks", "invalid_payload",
	"invalid_token", "no_active_hooks", "no_service", "no_service_id", "no_team", "no_text",
	"posting_to_general_channel_denied", "rate_limited", "rollup_error", "team_disabled",
	"too_many_attachments", "user_not_found",
}

// refine adds Slack's code to failure. A 403 from Slack is about the webhook, because we have no
// account there.
func refine(failure *notification.ProviderError, body []byte) {
	if failure.Status == http.StatusForbidden {
		failure.Class = notification.Refused
	}
	if code := strings.TrimSpace(string(body)); failure.Status >= 300 && slices.Contains(codes, code) {
		failure.Code = code
	}
}
