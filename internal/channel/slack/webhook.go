package slack

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"herald/internal/environment"
	"herald/internal/notification"
)

// hostNotAllowed says which setting keeps a message back. It does not name the host:
// whoever wrote the address chose its text.
const hostNotAllowed = "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"

// flaw names what is wrong with webhook, or returns "". Others write the addresses
// into the database: without this check they could make us post to any server that
// we can reach.
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

// codes are Slack's own. Any other text of an answer is not shown.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
var codes = []string{
	"action_prohibited", "channel_is_archived", "channel_not_found", "invalid_blocks", "invalid_payload",
	"invalid_token", "no_active_hooks", "no_service", "no_service_id", "no_team", "no_text",
	"posting_to_general_channel_denied", "rate_limited", "rollup_error", "team_disabled",
	"too_many_attachments", "user_not_found",
}

// refine adds Slack's own code to failure. A 403 of Slack's is about the webhook:
// we have no account there that could be at fault.
func refine(failure *notification.ProviderError, body []byte) {
	if failure.Status == http.StatusForbidden {
		failure.Class = notification.Refused
	}
	if code := strings.TrimSpace(string(body)); failure.Status >= 300 && slices.Contains(codes, code) {
		failure.Code = code
	}
}
