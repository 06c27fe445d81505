-- +goose Up
-- A delivery is written when it is planned, when its attempt begins and when that ends; an attempt, twice. With room on the page each new
-- version stands beside the old one, whose place the next one takes, and the beginning of an attempt, which no index shows, writes none.
-- Settings hold for pages that are written from now on; nothing is rewritten and nobody waits.
ALTER TABLE notification SET (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02, -- of 100 million rows, a fifth are too many to wait for
    autovacuum_analyze_scale_factor = 0.02
);
ALTER TABLE delivery_attempt SET (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);
-- Its rows hardly ever change: they are vacuumed for those that were purged.
ALTER TABLE notification_decision SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- +goose Down
ALTER TABLE notification_decision RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
ALTER TABLE delivery_attempt RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
ALTER TABLE notification RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
