-- +goose Up
-- Without a log: a row says something about the next second only, and one that a crash
-- or a failover loses is inserted anew.
CREATE UNLOGGED TABLE channel_turn (
    channel text PRIMARY KEY,
    next_at timestamptz NOT NULL
) WITH (fillfactor = 10); -- each turn updates a row: the new version finds room on its page

COMMENT ON TABLE channel_turn IS 'How far the turns of a channel with a rate limit (such as EMAIL_RATE_LIMIT) are given out. Workers take a turn of it for each message, so that the limit holds over all of them. Rows may be deleted at any time.';
COMMENT ON COLUMN channel_turn.channel IS 'A channel.';
COMMENT ON COLUMN channel_turn.next_at IS 'When the first turn is due that nobody has taken, by the clock of this server. In the past: nobody waits.';

-- +goose Down
DROP TABLE channel_turn;
