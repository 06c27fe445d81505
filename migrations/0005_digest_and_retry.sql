-- +goose Up
-- What a digest takes: the deliveries that wait for one.
CREATE INDEX notification_to_aggregate ON notification (user_type, user_id, channel, event_type, id)
    WHERE strategy = 'AGGREGATE' AND status = 'PENDING';
CREATE INDEX notification_of_digest ON notification (digest_id) WHERE digest_id IS NOT NULL;

-- The words of a digest, until an installation has its own: .Items are its notifications, in their order.
INSERT INTO notification_template (event_type, channel, locale, title, body)
VALUES ('digest', '*', 'en', '{{len .Items}} {{if eq (len .Items) 1}}notification{{else}}notifications{{end}}',
        '{{range .Items}}• {{.title}}: {{.body}}
{{end}}'),
       ('digest', 'EMAIL', 'en', '{{len .Items}} {{if eq (len .Items) 1}}notification{{else}}notifications{{end}}',
        '<p>Hello {{.recipient.name}},</p>{{range .Items}}<h3>{{.title}}</h3><div>{{.body}}</div>{{end}}')
ON CONFLICT DO NOTHING;

-- That an operator had a delivery made once more.
CREATE TABLE delivery_retry (
    delivery_id   text        NOT NULL,
    run_id        text        NOT NULL, -- the workflow's run that makes it
    retried_at    timestamptz NOT NULL DEFAULT now(),
    again         boolean     NOT NULL, -- the operator accepted that it may have been sent before
    status_before text        NOT NULL,
    error_before  text,

    PRIMARY KEY (delivery_id, run_id),
    CONSTRAINT delivery_retry_of_notification FOREIGN KEY (delivery_id) REFERENCES notification (delivery_id) ON DELETE CASCADE,
    CONSTRAINT delivery_retry_status CHECK (status_before IN ('PENDING', 'SENT', 'DELIVERED', 'FAILED', 'CANCELLED')),
    CONSTRAINT delivery_retry_of_sent_is_wanted CHECK (again OR status_before NOT IN ('SENT', 'DELIVERED'))
);

-- What operators look for, and work through.
CREATE INDEX notification_unsent ON notification (status, id) WHERE status IN ('PENDING', 'FAILED');

-- The latest events, and the oldest.
CREATE INDEX event_outbox_created_at ON event_outbox (created_at);

-- +goose Down
DROP INDEX event_outbox_created_at;
DROP INDEX notification_unsent;
DROP TABLE delivery_retry;
DELETE FROM notification_template WHERE event_type = 'digest';
DROP INDEX notification_of_digest;
DROP INDEX notification_to_aggregate;
