package link

import "herald/internal/notification"

var french = texts{
	Lang:          "fr",
	Notifications: "Notifications",
	Channels: map[notification.Channel]string{
		notification.WebSocket: "notifications dans votre boîte", notification.Email: "e-mails", notification.Push: "notifications push",
		notification.SMS: "SMS", notification.Slack: "messages Slack", notification.Webhook: "messages à votre webhook",
	},
	Messages: "messages",
	About:    "%s sur %s",

	MustSend: "Vous recevrez toujours les messages que nous devons envoyer, comme les confirmations de réservation.",
	Choose:   "Choisir ce que vous recevez",

	Stop:            "Se désabonner\u00a0: %s\u00a0?",
	Unsubscribe:     "Se désabonner",
	Stopped:         "Vous ne recevrez plus\u00a0: %s",
	CannotStop:      "Vous ne pouvez pas arrêter\u00a0: %s",
	CannotStopBody:  "Nous devons envoyer ces messages. Rien n’a changé.",
	Broken:          "Un problème est survenu",
	BrokenBody:      "Rien n’a changé. Rouvrez cette page dans une minute.",
	Incomplete:      "Ce lien est incomplet",
	IncompleteBody:  "Rien n’a changé. Rouvrez le lien du message, ou copiez-le en entier.",
	Gone:            "Ce lien n’est plus valable",
	GoneBody:        "Rien n’a changé. Utilisez le lien d’un message plus récent.",
	GetThese:        "Recevoir ces messages",
	DigestAt:        "Heure de vos résumés",
	DigestHint:      "Laissez vide pour l’heure habituelle.",
	Save:            "Enregistrer",
	Saved:           "Enregistré. Vos choix valent dès le prochain message.",
	NotSaved:        "Rien n’a été enregistré\u00a0: certains choix ne sont plus possibles. Vérifiez-les et enregistrez à nouveau.",
	NothingToChoose: "Il n’y a rien à choisir\u00a0: nous n’envoyons que les messages que nous devons envoyer.",
	MuteAsk:         "Mettre %s en sourdine\u00a0?",
	MuteBody:        "Vous ne recevrez plus rien pour cette raison, sur aucun canal.",
	Mute:            "Mettre en sourdine",
	Muted:           "%s est en sourdine",
	MutedBody:       "Vous ne recevez plus rien pour cette raison, sur aucun canal.",
	Unmute:          "Réactiver",
	Unmuted:         "%s n’est plus en sourdine",
	UnmutedBody:     "Vous recevez à nouveau des messages pour cette raison.",
	TooMany:         "Vous avez trop de sourdines. Réactivez-en d’abord quelques-unes dans votre boîte.",
}
