-- +goose Up
-- PostgreSQL stores a constant default without rewriting the table, and both tables are small.
ALTER TABLE event_type_escalation
    ADD COLUMN if_unreachable boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN event_type_escalation.if_unreachable IS 'true: somebody who has no address for from_channel, or a suppressed one, is told over to_channel at once. false: they get nothing that would follow.';

ALTER TABLE event_type_channel_routing
    ADD COLUMN roles text[];
COMMENT ON COLUMN event_type_channel_routing.roles IS 'The channel is for recipients with one of these roles. Also counts where it is mandatory. Null: any role.';

-- +goose Down
ALTER TABLE event_type_channel_routing DROP COLUMN roles;
ALTER TABLE event_type_escalation DROP COLUMN if_unreachable;
