package link

import "herald/internal/notification"

var english = texts{
	Lang:          "en",
	Notifications: "Notifications",
	Channels: map[notification.Channel]string{
		notification.WebSocket: "notifications in your inbox", notification.Email: "e-mails", notification.Push: "push notifications",
		notification.SMS: "text messages", notification.Slack: "Slack messages", notification.Webhook: "messages to your webhook",
	},
	Messages: "messages",
	About:    "%s about %s",

	MustSend: "You will still get messages we must send, such as booking confirmations.",
	Choose:   "Choose what you get",

	Stop:            "Stop %s?",
	Unsubscribe:     "Unsubscribe",
	Stopped:         "You will get no more %s",
	CannotStop:      "You cannot stop %s",
	CannotStopBody:  "We must send these messages. Nothing has changed.",
	Broken:          "Something went wrong",
	BrokenBody:      "Nothing has changed. Open this page again in a minute.",
	Incomplete:      "This link is incomplete",
	IncompleteBody:  "Nothing has changed. Open the link in the message again, or copy all of it.",
	Gone:            "This link is no longer valid",
	GoneBody:        "Nothing has changed. Use the link in a newer message.",
	GetThese:        "Get these messages",
	DigestAt:        "Time of your summaries",
	DigestHint:      "Leave it empty for the usual time.",
	Save:            "Save",
	Saved:           "Saved. Your choices apply from the next message on.",
	NotSaved:        "Nothing was saved: some choices are no longer possible. Check them and save again.",
	NothingToChoose: "There is nothing to choose: we only send you messages we must send.",
	MuteAsk:         "Mute %s?",
	MuteBody:        "You will get nothing more because of it, on any channel.",
	Mute:            "Mute",
	Muted:           "%s is muted",
	MutedBody:       "You get nothing more because of it, on any channel.",
	Unmute:          "Unmute",
	Unmuted:         "%s is no longer muted",
	UnmutedBody:     "You get messages because of it again.",
	TooMany:         "You have muted too many things. Unmute some of them in your inbox first.",
}
