package link

import "herald/internal/notification"

var italian = texts{
	Lang:          "it",
	Notifications: "Notifiche",
	Channels: map[notification.Channel]string{
		notification.WebSocket: "notifiche nella tua casella", notification.Email: "e-mail", notification.Push: "notifiche push",
		notification.SMS: "SMS", notification.Slack: "messaggi Slack", notification.Webhook: "messaggi al tuo webhook",
	},
	Messages: "messaggi",
	About:    "%s su %s",

	MustSend: "Riceverai comunque i messaggi che dobbiamo inviarti, come le conferme di prenotazione.",
	Choose:   "Scegli che cosa ricevere",

	Stop:            "Non vuoi più ricevere %s?",
	Unsubscribe:     "Annulla l’iscrizione",
	Stopped:         "Non riceverai più %s",
	CannotStop:      "Non puoi disattivare %s",
	CannotStopBody:  "Dobbiamo inviare questi messaggi. Non è cambiato nulla.",
	Broken:          "Qualcosa non ha funzionato",
	BrokenBody:      "Non è cambiato nulla. Riapri questa pagina tra un minuto.",
	Incomplete:      "Questo link è incompleto",
	IncompleteBody:  "Non è cambiato nulla. Riapri il link nel messaggio, o copialo per intero.",
	Gone:            "Questo link non è più valido",
	GoneBody:        "Non è cambiato nulla. Usa il link in un messaggio più recente.",
	GetThese:        "Ricevi questi messaggi",
	DigestAt:        "Ora dei riepiloghi",
	DigestHint:      "Lasciala vuota per l’ora abituale.",
	Save:            "Salva",
	Saved:           "Salvato. Le tue scelte valgono dal prossimo messaggio.",
	NotSaved:        "Non è stato salvato nulla: alcune scelte non sono più possibili. Controllale e salva di nuovo.",
	NothingToChoose: "Non c’è nulla da scegliere: ti inviamo solo i messaggi che dobbiamo inviare.",
	MuteAsk:         "Silenziare %s?",
	MuteBody:        "Non riceverai più nulla per questo motivo, su nessun canale.",
	Mute:            "Silenzia",
	Muted:           "%s: silenziato",
	MutedBody:       "Non ricevi più nulla per questo motivo, su nessun canale.",
	Unmute:          "Riattiva",
	Unmuted:         "%s: di nuovo attivo",
	UnmutedBody:     "Ricevi di nuovo messaggi per questo motivo.",
	TooMany:         "Hai silenziato troppe cose. Prima riattivane alcune nella tua casella.",
}
