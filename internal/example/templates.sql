-- In which words. A channel * is plain text and serves every channel that has no row of its own; EMAIL is HTML.

INSERT INTO notification_template (event_type, channel, locale, title, body)
VALUES ('*', '*', 'en', 'News about {{.event.aggregate_type}} {{.event.aggregate_id}}', 'Hello {{.recipient.name}}, there is news: {{.event.type}}.'),
       ('*', '*', 'it', 'Novità su {{.event.aggregate_type}} {{.event.aggregate_id}}', 'Ciao {{.recipient.name}}, ci sono novità: {{.event.type}}.'),

       ('RESERVATION_REQUESTED', '*', 'en', 'New reservation', '{{.payload.customer.name}}: table for {{.payload.pax}} on {{.payload.date}} at {{.payload.time}}'),
       ('RESERVATION_REQUESTED', '*', 'it', 'Nuova prenotazione', '{{.payload.customer.name}}: tavolo per {{.payload.pax}} il {{.payload.date}} alle {{.payload.time}}'),
       ('RESERVATION_REQUESTED', 'EMAIL', 'en', 'New reservation for {{.payload.pax}}',
        '<p>Hello {{.recipient.name}},</p><p><b>{{.payload.customer.name}}</b> asks for a table for {{.payload.pax}} on {{.payload.date}} at {{.payload.time}}.</p>{{with .payload.notes}}<p>Notes: {{.}}</p>{{end}}'),
       ('RESERVATION_REQUESTED', 'EMAIL', 'it', 'Nuova prenotazione per {{.payload.pax}}',
        '<p>Ciao {{.recipient.name}},</p><p><b>{{.payload.customer.name}}</b> chiede un tavolo per {{.payload.pax}} il {{.payload.date}} alle {{.payload.time}}.</p>{{with .payload.notes}}<p>Note: {{.}}</p>{{end}}'),

       ('RESERVATION_CONFIRMED', '*', 'en', 'Reservation confirmed', 'Table for {{.payload.pax}} on {{.payload.date}} at {{.payload.time}} is confirmed.'),
       ('RESERVATION_CONFIRMED', '*', 'it', 'Prenotazione confermata', 'Tavolo per {{.payload.pax}} il {{.payload.date}} alle {{.payload.time}}: confermato.'),
       ('RESERVATION_CONFIRMED', 'EMAIL', 'en', 'Your reservation is confirmed',
        '<p>Hello {{.recipient.name}},</p><p>the table for {{.payload.pax}} on {{.payload.date}} at {{.payload.time}} is confirmed.</p>'),
       ('RESERVATION_CONFIRMED', 'EMAIL', 'it', 'Prenotazione confermata',
        '<p>Ciao {{.recipient.name}},</p><p>il tavolo per {{.payload.pax}} il {{.payload.date}} alle {{.payload.time}} è confermato.</p>'),

       ('RESERVATION_REMINDER', '*', 'en', 'See you soon', 'Your table for {{.payload.pax}} is waiting for you at {{.payload.time}}.'),
       ('RESERVATION_REMINDER', '*', 'it', 'A presto', 'Il tavolo per {{.payload.pax}} ti aspetta alle {{.payload.time}}.'),

       ('PARTNER_ASSIGNMENT', '*', 'en', 'New partner: {{.payload.restaurant}}', '{{.payload.restaurant}} is now in the care of your agency.'),
       ('PARTNER_ASSIGNMENT', '*', 'it', 'Nuovo partner: {{.payload.restaurant}}', '{{.payload.restaurant}} è ora seguito dalla vostra agenzia.'),

       ('SYSTEM_ALERT', '*', 'en', 'Alert: {{.payload.service}}', '{{.payload.service}} reports: {{.payload.message}}'),
       ('SYSTEM_ALERT', '*', 'it', 'Allarme: {{.payload.service}}', '{{.payload.service}} segnala: {{.payload.message}}'),

       ('PROMOTION', '*', 'en', '{{.payload.discount}}% off this week', 'Hello {{.recipient.name}}: {{.payload.discount}}% off at {{.payload.restaurant}}.'),
       ('PROMOTION', '*', 'it', 'Sconto del {{.payload.discount}}% questa settimana', 'Ciao {{.recipient.name}}: sconto del {{.payload.discount}}% da {{.payload.restaurant}}.'),

       ('TABLE_READY', '*', 'en', 'Your table is ready', 'We are waiting for you.'),
       ('TABLE_READY', '*', 'it', 'Il tavolo è pronto', 'Ti aspettiamo.'),
       ('TABLE_READY', 'SMS', 'en', 'Your table is ready', 'Table {{.payload.table}} is ready.'), -- a payload without a table fails this delivery, and no other
       ('TABLE_READY', 'SMS', 'it', 'Il tavolo è pronto', 'Il tavolo {{.payload.table}} è pronto.'),

       ('REVIEW_POSTED', '*', 'en', '{{.payload.stars}} of 5 stars', '{{.payload.guest}}: {{.payload.text}}'),
       ('REVIEW_POSTED', '*', 'it', '{{.payload.stars}} stelle su 5', '{{.payload.guest}}: {{.payload.text}}'),
       ('REVIEW_POSTED', 'EMAIL', 'en', '{{.payload.stars}} of 5 stars', '<p><b>{{.payload.guest}}</b> writes: {{.payload.text}}</p>'),
       ('REVIEW_POSTED', 'EMAIL', 'it', '{{.payload.stars}} stelle su 5', '<p><b>{{.payload.guest}}</b> scrive: {{.payload.text}}</p>'),

       -- What is sent together; the English words are there from the first.
       ('digest', '*', 'it', '{{len .Items}} {{if eq (len .Items) 1}}notifica{{else}}notifiche{{end}}', '{{range .Items}}• {{.title}}: {{.body}}
{{end}}'),
       ('digest', 'EMAIL', 'it', '{{len .Items}} {{if eq (len .Items) 1}}notifica{{else}}notifiche{{end}}',
        '<p>Ciao {{.recipient.name}},</p>{{range .Items}}<h3>{{.title}}</h3>{{.body}}{{end}}')
ON CONFLICT (event_type, channel, locale) DO UPDATE
SET    title = excluded.title,
       body  = excluded.body;
