-- Layouts: what stands around the texts of many templates.
-- +goose Up
CREATE TABLE notification_layout (
    name   text,
    locale text DEFAULT 'en' NOT NULL,
    body   text NOT NULL,
    CONSTRAINT notification_layout_pkey PRIMARY KEY (name, locale),
    CONSTRAINT notification_layout_name CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,49}$'),
    CONSTRAINT notification_layout_locale CHECK (locale ~ '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,5}$'),
    CONSTRAINT notification_layout_size CHECK (octet_length(body) BETWEEN 1 AND 65536)
);

COMMENT ON TABLE notification_layout IS 'What stands around the texts of the templates that name it, such as a header and a footer.';
COMMENT ON COLUMN notification_layout.name IS 'The name in notification_template.layout.';
COMMENT ON COLUMN notification_layout.locale IS 'en, it, it-CH. The locale of the template counts: of it-CH, then it, then en, the first that exists.';
COMMENT ON COLUMN notification_layout.body IS 'A template in the markup of the channel, with {{block}} where the text goes. It may use .unsubscribe_url, .preferences_url, .reason, .event and .recipient.';

ALTER TABLE notification_template ADD COLUMN layout text;

COMMENT ON COLUMN notification_template.layout IS 'The name of a notification_layout. With channel *, it holds for EMAIL alone. The items of a digest have none: the digest''s own template has one. Null: none.';

-- +goose Down
ALTER TABLE notification_template DROP COLUMN layout;
DROP TABLE notification_layout;
