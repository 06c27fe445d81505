package link

import "herald/internal/notification"

var spanish = texts{
	Lang:          "es",
	Notifications: "Notificaciones",
	Channels: map[notification.Channel]string{
		notification.WebSocket: "notificaciones en tu bandeja", notification.Email: "correos electrónicos",
		notification.Push: "notificaciones push",
		notification.SMS:  "SMS", notification.Slack: "mensajes de Slack", notification.Webhook: "mensajes a tu webhook",
	},
	Messages: "mensajes",
	About:    "%s sobre %s",

	MustSend: "Seguirás recibiendo los mensajes que debemos enviarte, como las confirmaciones de reserva.",
	Choose:   "Elige qué recibes",

	Stop:            "¿Dejar de recibir %s?",
	Unsubscribe:     "Cancelar suscripción",
	Stopped:         "Ya no recibirás %s",
	CannotStop:      "No puedes desactivar %s",
	CannotStopBody:  "Debemos enviar estos mensajes. No ha cambiado nada.",
	Broken:          "Algo ha fallado",
	BrokenBody:      "No ha cambiado nada. Vuelve a abrir esta página en un minuto.",
	Incomplete:      "Este enlace está incompleto",
	IncompleteBody:  "No ha cambiado nada. Vuelve a abrir el enlace del mensaje, o cópialo entero.",
	Gone:            "Este enlace ya no es válido",
	GoneBody:        "No ha cambiado nada. Usa el enlace de un mensaje más reciente.",
	GetThese:        "Recibir estos mensajes",
	DigestAt:        "Hora de tus resúmenes",
	DigestHint:      "Déjala vacía para la hora habitual.",
	Save:            "Guardar",
	Saved:           "Guardado. Tus elecciones valen desde el próximo mensaje.",
	NotSaved:        "No se ha guardado nada: algunas opciones ya no son posibles. Revísalas y guarda de nuevo.",
	NothingToChoose: "No hay nada que elegir: solo te enviamos los mensajes que debemos enviar.",
	MuteAsk:         "¿Silenciar %s?",
	MuteBody:        "No recibirás nada más por este motivo, por ningún canal.",
	Mute:            "Silenciar",
	Muted:           "%s: silenciado",
	MutedBody:       "No recibes nada más por este motivo, por ningún canal.",
	Unmute:          "Reactivar",
	Unmuted:         "%s: de nuevo activo",
	UnmutedBody:     "Vuelves a recibir mensajes por este motivo.",
	TooMany:         "Has silenciado demasiadas cosas. Reactiva antes algunas en tu bandeja.",
}
