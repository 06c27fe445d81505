package link

import "herald/internal/notification"

var german = texts{
	Lang:          "de",
	Notifications: "Mitteilungen",
	Channels: map[notification.Channel]string{
		notification.WebSocket: "Mitteilungen in Ihrem Posteingang", notification.Email: "E-Mails", notification.Push: "Push-Mitteilungen",
		notification.SMS: "SMS", notification.Slack: "Slack-Nachrichten", notification.Webhook: "Nachrichten an Ihren Webhook",
	},
	Messages: "Nachrichten",
	About:    "%s zu %s",

	MustSend: "Sie erhalten weiterhin Nachrichten, die wir senden müssen, zum Beispiel Buchungsbestätigungen.",
	Choose:   "Auswählen, was Sie erhalten",

	Stop:            "%s abbestellen?",
	Unsubscribe:     "Abbestellen",
	Stopped:         "Abbestellt: %s",
	CannotStop:      "Nicht abbestellbar: %s",
	CannotStopBody:  "Wir müssen diese Nachrichten senden. Es wurde nichts geändert.",
	Broken:          "Etwas ist schiefgegangen",
	BrokenBody:      "Es wurde nichts geändert. Öffnen Sie diese Seite in einer Minute noch einmal.",
	Incomplete:      "Dieser Link ist unvollständig",
	IncompleteBody:  "Es wurde nichts geändert. Öffnen Sie den Link in der Nachricht noch einmal, oder kopieren Sie ihn ganz.",
	Gone:            "Dieser Link gilt nicht mehr",
	GoneBody:        "Es wurde nichts geändert. Nehmen Sie den Link aus einer neueren Nachricht.",
	GetThese:        "Diese Nachrichten erhalten",
	DigestAt:        "Uhrzeit Ihrer Zusammenfassungen",
	DigestHint:      "Ohne Angabe gilt die übliche Uhrzeit.",
	Save:            "Speichern",
	Saved:           "Gespeichert. Ihre Auswahl gilt ab der nächsten Nachricht.",
	NotSaved:        "Nichts gespeichert: Einiges ist nicht mehr wählbar. Prüfen Sie Ihre Auswahl, und speichern Sie noch einmal.",
	NothingToChoose: "Hier gibt es nichts auszuwählen: Wir senden Ihnen nur Nachrichten, die wir senden müssen.",
	MuteAsk:         "%s stummschalten?",
	MuteBody:        "Sie erhalten deswegen auf keinem Kanal mehr Nachrichten.",
	Mute:            "Stummschalten",
	Muted:           "%s ist stummgeschaltet",
	MutedBody:       "Sie erhalten deswegen auf keinem Kanal mehr Nachrichten.",
	Unmute:          "Stummschaltung aufheben",
	Unmuted:         "%s ist nicht mehr stummgeschaltet",
	UnmutedBody:     "Sie erhalten deswegen wieder Nachrichten.",
	TooMany:         "Sie haben zu vieles stummgeschaltet. Heben Sie zuerst einige Stummschaltungen in Ihrem Posteingang auf.",
}
