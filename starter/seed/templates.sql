-- The texts. Rows with the channel * are plain text, for all channels without a separate row.
-- EMAIL is HTML.

INSERT INTO notification_template (event_type, channel, locale, title, body)
VALUES ('*', '*', 'en', 'News about {{.event.aggregate_type}} {{.event.aggregate_id}}', 'Hello {{.recipient.name}}, there is news: {{.event.type}}.'),
       ('*', '*', 'it', 'Novità su {{.event.aggregate_type}} {{.event.aggregate_id}}', 'Ciao {{.recipient.name}}, ci sono novità: {{.event.type}}.'),

       -- Read optional payload keys with `index` inside `with`, which omits the text if the key is
       -- missing. `.payload.key` would fail the delivery. The services that write reservations use
       -- different names: customer.name and customer_name; pax, party_size, people and guests.
       ('RESERVATION_REQUESTED', '*', 'en', 'New reservation',
        '{{$name := index .payload "customer_name"}}{{with index .payload "customer"}}{{$name = index . "name"}}{{end}}{{with $name}}{{.}}: table{{else}}Table{{end}}{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}}{{with index .payload "date"}} on {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}}'),
       ('RESERVATION_REQUESTED', '*', 'it', 'Nuova prenotazione',
        '{{$name := index .payload "customer_name"}}{{with index .payload "customer"}}{{$name = index . "name"}}{{end}}{{with $name}}{{.}}: tavolo{{else}}Tavolo{{end}}{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}}{{with index .payload "date"}} il {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}}'),
       ('RESERVATION_REQUESTED', 'EMAIL', 'en', 'New reservation',
        '{{$name := index .payload "customer_name"}}{{with index .payload "customer"}}{{$name = index . "name"}}{{end}}<p>Hello {{.recipient.name}},</p><p><b>{{or $name "A customer"}}</b> asks for a table{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}}{{with index .payload "date"}} on {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}}.</p>{{with index .payload "notes"}}<p>Notes: {{.}}</p>{{end}}'),
       ('RESERVATION_REQUESTED', 'EMAIL', 'it', 'Nuova prenotazione',
        '{{$name := index .payload "customer_name"}}{{with index .payload "customer"}}{{$name = index . "name"}}{{end}}<p>Ciao {{.recipient.name}},</p><p><b>{{or $name "Un cliente"}}</b> chiede un tavolo{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}}{{with index .payload "date"}} il {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}}.</p>{{with index .payload "notes"}}<p>Note: {{.}}</p>{{end}}'),

       ('RESERVATION_CONFIRMED', '*', 'en', 'Reservation confirmed', 'The table{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}}{{with index .payload "date"}} on {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}} is confirmed.'),
       ('RESERVATION_CONFIRMED', '*', 'it', 'Prenotazione confermata', 'Il tavolo{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}}{{with index .payload "date"}} il {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}} è confermato.'),
       ('RESERVATION_CONFIRMED', 'EMAIL', 'en', 'Your reservation is confirmed',
        '<p>Hello {{.recipient.name}},</p><p>the table{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}}{{with index .payload "date"}} on {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}} is confirmed.</p>'),
       ('RESERVATION_CONFIRMED', 'EMAIL', 'it', 'Prenotazione confermata',
        '<p>Ciao {{.recipient.name}},</p><p>il tavolo{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}}{{with index .payload "date"}} il {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}} è confermato.</p>'),

       ('RESERVATION_CANCELLED', '*', 'en', 'Reservation cancelled', 'The table{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}}{{with index .payload "date"}} on {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}} is cancelled.'),
       ('RESERVATION_CANCELLED', '*', 'it', 'Prenotazione annullata', 'Il tavolo{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}}{{with index .payload "date"}} il {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}} è annullato.'),
       ('RESERVATION_CANCELLED', 'EMAIL', 'en', 'Reservation cancelled',
        '<p>Hello {{.recipient.name}},</p><p>the table{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}}{{with index .payload "date"}} on {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}} is cancelled.</p>'),
       ('RESERVATION_CANCELLED', 'EMAIL', 'it', 'Prenotazione annullata',
        '<p>Ciao {{.recipient.name}},</p><p>il tavolo{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}}{{with index .payload "date"}} il {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}} è annullato.</p>'),

       ('RESERVATION_REMINDER', '*', 'en', 'See you soon', 'Your table{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} for {{.}}{{end}} is waiting for you{{with index .payload "time"}} at {{.}}{{end}}.'),
       ('RESERVATION_REMINDER', '*', 'it', 'A presto', 'Il tavolo{{with or (index .payload "pax") (index .payload "party_size") (index .payload "people") (index .payload "guests")}} per {{.}}{{end}} ti aspetta{{with index .payload "time"}} alle {{.}}{{end}}.'),

       ('PARTNER_ASSIGNMENT', '*', 'en', 'New partner{{with index .payload "restaurant"}}: {{.}}{{end}}', '{{or (index .payload "restaurant") "A restaurant"}} is now in the care of your agency.'),
       ('PARTNER_ASSIGNMENT', '*', 'it', 'Nuovo partner{{with index .payload "restaurant"}}: {{.}}{{end}}', '{{or (index .payload "restaurant") "Un ristorante"}} è ora seguito dalla vostra agenzia.'),

       -- An escalated delivery uses the template TYPE.escalated if it exists, else its type's template.
       ('TABLE_OFFERED', '*', 'en', 'A table is free', 'A table{{with index .payload "pax"}} for {{.}}{{end}}{{with index .payload "time"}} at {{.}}{{end}} is free for you{{with index .payload "until"}} until {{.}}{{end}}.'),
       ('TABLE_OFFERED', '*', 'it', 'Un tavolo è libero', 'Un tavolo{{with index .payload "pax"}} per {{.}}{{end}}{{with index .payload "time"}} alle {{.}}{{end}} è libero per te{{with index .payload "until"}} fino alle {{.}}{{end}}.'),
       ('TABLE_OFFERED.escalated', 'EMAIL', 'en', 'Please check your telephone number',
        '<p>Hello {{.recipient.name}},</p><p>a table is free for you, and our text message did not reach you. Please check the telephone number that we have of you.</p>'),
       ('TABLE_OFFERED.escalated', 'EMAIL', 'it', 'Controlla il tuo numero di telefono',
        '<p>Ciao {{.recipient.name}},</p><p>c''è un tavolo libero per te, e il nostro SMS non ti ha raggiunto. Controlla il numero di telefono che abbiamo di te.</p>'),

       ('SYSTEM_ALERT', '*', 'en', 'Alert: {{.payload.service}}', '{{.payload.service}} reports: {{.payload.message}}'),
       ('SYSTEM_ALERT', '*', 'it', 'Allarme: {{.payload.service}}', '{{.payload.service}} segnala: {{.payload.message}}'),

       ('PROMOTION', '*', 'en', '{{.payload.discount}}% off this week', 'Hello {{.recipient.name}}: {{.payload.discount}}% off at {{.payload.restaurant}}.'),
       ('PROMOTION', '*', 'it', 'Sconto del {{.payload.discount}}% questa settimana', 'Ciao {{.recipient.name}}: sconto del {{.payload.discount}}% da {{.payload.restaurant}}.'),

       ('TABLE_READY', '*', 'en', 'Your table is ready', 'We are waiting for you.'),
       ('TABLE_READY', '*', 'it', 'Il tavolo è pronto', 'Ti aspettiamo.'),
       ('TABLE_READY', 'SMS', 'en', 'Your table is ready', 'Table {{.payload.table}} is ready.'), -- if the payload has no table, only this delivery fails
       ('TABLE_READY', 'SMS', 'it', 'Il tavolo è pronto', 'Il tavolo {{.payload.table}} è pronto.'),

       ('REVIEW_POSTED', '*', 'en', '{{.payload.stars}} of 5 stars', '{{.payload.guest}}: {{.payload.text}}'),
       ('REVIEW_POSTED', '*', 'it', '{{.payload.stars}} stelle su 5', '{{.payload.guest}}: {{.payload.text}}'),
       ('REVIEW_POSTED', 'EMAIL', 'en', '{{.payload.stars}} of 5 stars', '<p><b>{{.payload.guest}}</b> writes: {{.payload.text}}</p>'),
       ('REVIEW_POSTED', 'EMAIL', 'it', '{{.payload.stars}} stelle su 5', '<p><b>{{.payload.guest}}</b> scrive: {{.payload.text}}</p>'),

       ('OrderCreated', '*', 'en', 'Your order', 'Thank you, {{.recipient.name}}: we have your order of {{.payload.total}} €.'),
       ('OrderCreated', '*', 'it', 'Il tuo ordine', 'Grazie, {{.recipient.name}}: abbiamo il tuo ordine di {{.payload.total}} €.'),
       ('OrderCreated', 'EMAIL', 'en', 'Your order', '<p>Thank you, {{.recipient.name}}: we have your order of {{.payload.total}} €.</p><ul>{{range index .payload "items"}}<li>{{.}}</li>{{end}}</ul>'),
       ('OrderCreated', 'EMAIL', 'it', 'Il tuo ordine', '<p>Grazie, {{.recipient.name}}: abbiamo il tuo ordine di {{.payload.total}} €.</p><ul>{{range index .payload "items"}}<li>{{.}}</li>{{end}}</ul>'),

       -- Digests. A migration has added the English templates.
       ('digest', '*', 'it', '{{len .Items}} {{if eq (len .Items) 1}}notifica{{else}}notifiche{{end}}', '{{range .Items}}• {{.title}}: {{.body}}
{{end}}'),
       ('digest', 'EMAIL', 'it', '{{len .Items}} {{if eq (len .Items) 1}}notifica{{else}}notifiche{{end}}',
        '<p>Ciao {{.recipient.name}},</p>{{range .Items}}<h3>{{.title}}</h3>{{.body}}{{end}}')
ON CONFLICT (event_type, channel, locale) DO UPDATE
SET    title = excluded.title,
       body  = excluded.body
WHERE  (notification_template.title, notification_template.body)
       IS DISTINCT FROM (excluded.title, excluded.body);
