package notification

import (
	"slices"
	"strings"
	"time"
)

// Channel is a way to reach a recipient.
type Channel string

// The channels.
const (
	WebSocket Channel = "WEBSOCKET"
	Email     Channel = "EMAIL"
	Push      Channel = "PUSH"
	SMS       Channel = "SMS"
	Slack     Channel = "SLACK"
)

// channelRow is all that Herald knows of one channel. How to send over it is
// known to its package in internal/channel alone.
type channelRow struct {
	name         Channel
	defaultUsers []UserType    // whom it serves until an operator changes channel_user_type
	bestEffort   bool          // it gets one attempt, whose failure is an outcome rather than an error
	firstRetry   time.Duration // by default, from the first attempt to the second; 0: best effort
	quieted      bool          // quiet hours silence it
	html         bool          // its bodies are HTML; those of the others are plain text
	needsTitle   bool          // its provider refuses a message without one
	digestBytes  int           // see [Channel.DigestBytes]
	reach        func(Recipient) (address string, ok bool)
	normal       func(address string) string // its one spelling; nil: only spaces around it are no part of it
	reachedBy    string                      // what reach looks for; empty: nothing, since everybody can be reached
	remedy       string                      // what to do where reach finds nothing
}

// channelTable has one row for each channel, in the order in which they are shown.
var channelTable = []channelRow{
	{
		name:         WebSocket,
		defaultUsers: []UserType{RestaurantUser, Customer, AgencyUser, Admin, Guest},
		bestEffort:   true,
		digestBytes:  48 << 10, // of 64 KiB
		reach:        func(Recipient) (string, bool) { return "", true },
	},
	{
		name:         Email,
		defaultUsers: []UserType{RestaurantUser, Customer, AgencyUser, Admin},
		firstRetry:   30 * time.Second,
		quieted:      true,
		html:         true,
		needsTitle:   true,
		digestBytes:  48 << 10, // of 64 KiB
		reach:        func(r Recipient) (string, bool) { return r.Email, r.Email != "" },
		normal:       normalMail,
		reachedBy:    "an e-mail address",
		remedy:       "enter their e-mail address (recipient)",
	},
	{
		name:         Push,
		defaultUsers: []UserType{RestaurantUser, Customer, AgencyUser},
		firstRetry:   10 * time.Second,
		quieted:      true,
		digestBytes:  2500, // of 4 KiB
		reach:        func(r Recipient) (string, bool) { return "", r.HasDevice },
		reachedBy:    "an active device",
		remedy:       "let them register a device (recipient_device)",
	},
	{
		name:         SMS,
		defaultUsers: []UserType{RestaurantUser, Customer, AgencyUser},
		firstRetry:   5 * time.Second,
		quieted:      true,
		digestBytes:  1200, // of 1,600 characters
		reach:        func(r Recipient) (string, bool) { return r.Phone, r.Phone != "" },
		normal:       normalPhone,
		reachedBy:    "a phone number",
		remedy:       "enter their phone number (recipient)",
	},
	{
		name:         Slack,
		defaultUsers: []UserType{RestaurantUser, Admin},
		bestEffort:   true,
		digestBytes:  2500, // of 3,000 characters
		reach:        func(r Recipient) (string, bool) { return r.SlackWebhookURL, r.SlackWebhookURL != "" },
		reachedBy:    "a Slack webhook",
		remedy:       "enter their Slack webhook (recipient)",
	},
}

// row is the channel's row; of a channel that does not exist, an empty one, over
// which nobody can be reached.
func (c Channel) row() channelRow {
	for _, row := range channelTable {
		if row.name == c {
			return row
		}
	}
	return channelRow{reach: func(Recipient) (string, bool) { return "", false }}
}

// Channels returns every channel, in the order in which they are shown.
func Channels() []Channel {
	names := make([]Channel, len(channelTable))
	for i, row := range channelTable {
		names[i] = row.name
	}
	return names
}

// Valid says whether c is one of [Channels].
func (c Channel) Valid() bool { return slices.Contains(Channels(), c) }

// DefaultUsers are the types of user whom the channel serves until an operator
// changes channel_user_type.
func (c Channel) DefaultUsers() []UserType { return slices.Clone(c.row().defaultUsers) }

// BestEffort says that the channel gets one attempt, and that its failure is an
// outcome rather than an error.
func (c Channel) BestEffort() bool { return c.row().bestEffort }

// FirstRetry is the time from the first attempt to the second, unless a setting
// says otherwise; 0 for a best-effort channel.
func (c Channel) FirstRetry() time.Duration { return c.row().firstRetry }

// Quieted says that quiet hours silence the channel.
func (c Channel) Quieted() bool { return c.row().quieted }

// HTML says that the channel's bodies are HTML rather than plain text.
func (c Channel) HTML() bool { return c.row().html }

// NeedsTitle says that the channel's provider refuses a message without a title.
func (c Channel) NeedsTitle() bool { return c.row().needsTitle }

// DigestBytes bounds the texts of a digest's items, in bytes, so that the message
// which lists them stays within what its provider takes. What does not fit comes
// in the next digest.
func (c Channel) DigestBytes() int { return c.row().digestBytes }

// addressWord is what the channel reaches somebody by, and whether they have it:
// "an e-mail address", "no e-mail address".
func (c Channel) addressWord(present bool) string {
	word := c.row().reachedBy
	switch {
	case word == "":
		return "no need of an address: it knows them by their id"
	case present:
		return word
	default:
		_, word, _ = strings.Cut(word, " ")
		return "no " + word
	}
}

// Address is where a channel reaches the recipient; empty where it knows them
// by their id, as WEBSOCKET and PUSH do, or where they have none.
func (r Recipient) Address(channel Channel) string {
	address, _ := channel.row().reach(r)
	return address
}

// Reachable says that the recipient has an address for a channel, or needs none.
func (r Recipient) Reachable(channel Channel) bool {
	_, ok := channel.row().reach(r)
	return ok
}
