package slack

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"herald/internal/config/environment"
	"herald/internal/notification"
)

// hostNotAllowed names the setting that blocks a message. It does not name the host, because the
// author of the address chose that text.
const hostNotAllowed = "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"

// flaw returns the defect of webhook, or "". Other people write the addresses into the database.
// Without this check they could make us post to any server that we can reach.
func flaw(webhook string, hosts []string) string {
	u, err := url.Parse(webhook)
	switch {
	case err != nil, u.Host == "", u.User != nil, u.Opaque != "":
		return "invalid webhook"
	case !allowed(u, hosts):
		return hostNotAllowed
	case u.Scheme != "https" && (u.Scheme != "http" || !environment.IsLocal(u.Hostname())):
		return "webhook is not https"
	default:
		return ""
	}
}

func allowed(u *url.URL, hosts []string) bool {
	return slices.ContainsFunc(hosts, func(host string) bool {
		return strings.EqualFold(host, u.Host) || strings.EqualFold(host, u.Hostname())
	})
}

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
