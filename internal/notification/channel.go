package notification

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Channel is a way to reach a recipient.
type Channel string

const (
	WebSocket Channel = "WEBSOCKET"
	Email     Channel = "EMAIL"
	Push      Channel = "PUSH"
	SMS       Channel = "SMS"
	Slack     Channel = "SLACK"
	Webhook   Channel = "WEBHOOK"
)

// channelRow holds Herald's facts about one channel. Only the channel's package in
// internal/channel knows how to send.
type channelRow struct {
	name       Channel
	bestEffort bool                            // one attempt only; its failure is an outcome, not an error
	eachLimit  bool                            // each address has its own rate limit
	firstRetry time.Duration                   // default time from the first attempt to the second; 0: best effort
	quieted    bool                            // quiet hours silence it
	markup     Markup                          // of its bodies
	links      Links                           // the urls that its messages carry
	needsTitle bool                            // its provider refuses a message without one
	carries    func(id string, text Text) bool // nil: each text that a template may have; see [Channel.Carries]
	reach      func(Recipient) (address string, ok bool)
	column     string // of the table recipient, with the address; empty: the channel uses the user id
	example    string // an example of an address
	reachedBy  string // the kind of address that reach returns; empty: everybody is reachable
	remedy     string // how to give the recipient an address
}

// channelTable has one row for each channel, in display order.
var channelTable = []channelRow{
	{
		name:       WebSocket,
		bestEffort: true,
		links:      EveryLink,
		reach:      func(Recipient) (string, bool) { return "", true },
	},
	{
		name:       Email,
		firstRetry: 30 * time.Second,
		quieted:    true,
		markup:     HTML,
		needsTitle: true,
		reach:      func(r Recipient) (string, bool) { return written(r.Email) },
		column:     "email",
		example:    "anna@example.com",
		reachedBy:  "an e-mail address",
		remedy:     "enter their e-mail address (recipient)",
	},
	{
		name:       Push,
		firstRetry: 10 * time.Second,
		quieted:    true,
		links:      EveryLink,
		carries:    carriedByPush,
		reach:      func(r Recipient) (string, bool) { return "", r.HasDevice },
		reachedBy:  "an active device",
		remedy:     "let them register a device (recipient_device)",
	},
	{
		name:       SMS,
		firstRetry: 5 * time.Second,
		quieted:    true,
		carries:    func(_ string, text Text) bool { return utf8.RuneCountInString(text.Body) <= MaxSMS },
		reach:      func(r Recipient) (string, bool) { return written(r.Phone) },
		column:     "phone",
		example:    "+41791234567",
		reachedBy:  "a phone number",
		remedy:     "enter their phone number (recipient)",
	},
	{
		name:       Slack,
		bestEffort: true,
		eachLimit:  true,
		markup:     Mrkdwn,
		links:      WebLinks,
		carries:    func(_ string, text Text) bool { return utf8.RuneCountInString(text.Title) <= maxSlackTitle },
		reach:      func(r Recipient) (string, bool) { return written(r.SlackWebhookURL) },
		column:     "slack_webhook_url",
		example:    "https://hooks.slack.com/services/…",
		reachedBy:  "a Slack webhook",
		remedy:     "enter their Slack webhook (recipient)",
	},
	{
		name:       Webhook,
		firstRetry: 10 * time.Second,
		eachLimit:  true,
		links:      EveryLink,
		carries:    carriedByWebhook,
		reach:      func(r Recipient) (string, bool) { return written(r.WebhookURL) },
		column:     "webhook_url",
		example:    "https://example.com/hooks/…",
		reachedBy:  "a webhook",
		remedy:     "enter their webhook (recipient)",
	},
}

// written returns an address, unless it is blank.
func written(address string) (string, bool) {
	if TrimAddress(address) == "" {
		return "", false
	}
	return address, true
}

// row returns the channel's row. An unknown channel gets an empty row that reaches nobody.
func (c Channel) row() channelRow {
	for _, row := range channelTable {
		if row.name == c {
			return row
		}
	}
	return channelRow{reach: func(Recipient) (string, bool) { return "", false }}
}

// Channels returns every channel, in display order.
func Channels() []Channel {
	names := make([]Channel, len(channelTable))
	for i, row := range channelTable {
		names[i] = row.name
	}
	return names
}

// Valid reports whether c is in [Channels].
func (c Channel) Valid() bool { return slices.Contains(Channels(), c) }

// BestEffort reports whether the channel gets one attempt, whose failure is an outcome, not an
// error.
func (c Channel) BestEffort() bool { return c.row().bestEffort }

// LimitsEach reports whether a rate limit of the channel is for each destination: a Slack webhook, or the
// host of a webhook.
func (c Channel) LimitsEach() bool { return c.row().eachLimit }

// FirstRetry is the default time from the first attempt to the second; 0 for a best-effort
// channel.
func (c Channel) FirstRetry() time.Duration { return c.row().firstRetry }

// Quieted reports whether quiet hours silence the channel.
func (c Channel) Quieted() bool { return c.row().quieted }

// Markup is the markup of a channel's bodies. Planning escapes the data in them.
type Markup string

// The markups of channels.
const (
	PlainText Markup = ""
	HTML      Markup = "HTML"
	Mrkdwn    Markup = "mrkdwn" // Slack's
)

// Markup returns the markup of the channel's bodies.
func (c Channel) Markup() Markup { return c.row().markup }

// Links tells which urls a channel's messages carry.
type Links int

const (
	NoLinks   Links = iota // readers find links in the text
	WebLinks               // only links with a host, since readers have no page
	EveryLink              // each that [IsLink] accepts
)

// Links returns the urls that the channel's messages carry.
func (c Channel) Links() Links { return c.row().links }

// NeedsTitle reports whether the channel's provider refuses a message without a title.
func (c Channel) NeedsTitle() bool { return c.row().needsTitle }

// AddressColumn is the column of the table recipient with the channel's addresses. It is empty if
// the channel uses the user id.
func (c Channel) AddressColumn() string { return c.row().column }

// AddressExample is an example of an address. It is empty if the channel uses the user id.
func (c Channel) AddressExample() string { return c.row().example }

// AddressWord names the channel's kind of address: "an e-mail address". It is empty if the channel uses
// the user id.
func (c Channel) AddressWord() string { return c.row().reachedBy }

// addressWord names the channel's kind of address: "an e-mail address", or "no e-mail address" if
// it is missing.
func (c Channel) addressWord(present bool) string {
	word := c.row().reachedBy
	switch {
	case word == "":
		return "not needed: the channel uses the user id"
	case present:
		return word
	default:
		_, word, _ = strings.Cut(word, " ")
		return "no " + word
	}
}

// Address returns the recipient's address on the channel. It is empty if the recipient has none, and
// for WEBSOCKET and PUSH, which use the user id.
func (r Recipient) Address(channel Channel) string {
	address, _ := channel.row().reach(r)
	return address
}

// WithAddress returns the recipient with another address on the channel, if the channel has addresses.
func (r Recipient) WithAddress(channel Channel, address string) Recipient {
	switch channel {
	case Email:
		r.Email = address
	case SMS:
		r.Phone = address
	case Slack:
		r.SlackWebhookURL = address
	case Webhook:
		r.WebhookURL = address
	}
	return r
}

// Reachable reports whether the recipient has an address on the channel, or needs none.
func (r Recipient) Reachable(channel Channel) bool {
	_, ok := channel.row().reach(r)
	return ok
}
