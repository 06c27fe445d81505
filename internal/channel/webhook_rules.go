package channel

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"herald/internal/address"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// WebhookRules decides which webhooks of recipients get messages. Other people write the URLs into the
// database. Without the rules, they could make Herald post to any server that it can reach.
type WebhookRules struct {
	Hosts     []string // host or host:port, in lower case
	AnyHost   bool     // every other host, too
	Setting   string   // name of the setting that lists Hosts
	Cleartext bool     // http to other machines, too
}

// Ready returns a message with its webhook in the spelling of package address, or why it is not sent.
func (r WebhookRules) Ready(msg notification.Message) (ready notification.Message, flaw string) {
	to, wrong := address.Normal(notification.Webhook, msg.To)
	if wrong != "" {
		return msg, cmp.Or(r.Flaw(msg.To), invalidWebhook)
	}
	msg.To = to
	return msg, r.Flaw(to)
}

const invalidWebhook = "invalid webhook"

// Flaw returns why a webhook gets no messages, or "". It names no host, because the author of the URL
// chose that text.
func (r WebhookRules) Flaw(webhook string) string {
	u, err := url.Parse(webhook)
	switch {
	case err != nil, u.Host == "", u.User != nil, u.Opaque != "":
		return invalidWebhook
	case !r.AnyHost && !r.Lists(u.Host):
		return "the host of the recipient's webhook is not in " + r.Setting
	case u.Scheme != "https" && (u.Scheme != "http" || !r.Cleartext && !environment.IsLocal(u.Hostname())):
		return "webhook is not https"
	default:
		return ""
	}
}

// Lists reports whether Hosts contains a host, given as host or host:port.
func (r WebhookRules) Lists(host string) bool {
	u, err := url.Parse("//" + host)
	return err == nil && slices.ContainsFunc(r.Hosts, func(listed string) bool {
		return strings.EqualFold(listed, u.Host) || strings.EqualFold(listed, u.Hostname())
	})
}

// Servers returns the URLs of the hosts. Only hosts on this machine get plain http.
func (r WebhookRules) Servers() []string {
	var urls []string
	for _, host := range r.Hosts {
		scheme := "https://"
		if u, err := url.Parse("//" + host); err == nil && environment.IsLocal(u.Hostname()) {
			scheme = "http://"
		}
		urls = append(urls, scheme+host)
	}
	return urls
}
