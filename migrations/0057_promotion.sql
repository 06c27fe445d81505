-- +goose Up
-- A promotion of another generation of workers ends workflows that the generation cannot replay, and starts their events again.
ALTER TABLE processed_event ADD COLUMN restarting_at timestamptz;

COMMENT ON COLUMN processed_event.restarting_at IS 'Since when a promotion of workers ends the workflows of the event, to start it again. Null: it does not. While it is set, the event does not fail and none of its deliveries is cancelled.';

CREATE TABLE worker_promotion (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation      int         NOT NULL,
    from_generation int         NOT NULL,
    began_at        timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz
);

COMMENT ON TABLE worker_promotion IS 'Which generations of workers were promoted, and when. The rows are few and stay.';
COMMENT ON COLUMN worker_promotion.id IS 'Which promotion it is. They are in the order in which they began.';
COMMENT ON COLUMN worker_promotion.generation IS 'The generation of commands that gets all tasks from then on.';
COMMENT ON COLUMN worker_promotion.from_generation IS 'The generation that got them before. Greater than generation: the promotion was a rollback.';
COMMENT ON COLUMN worker_promotion.began_at IS 'When the promotion began.';
COMMENT ON COLUMN worker_promotion.ended_at IS 'When all events that the promotion ended were started again. Null: the promotion is under way, or was interrupted and will be resumed.';

-- Workers of both generations run while a promotion ends the workflows of an event. What the end of a workflow makes them write must not
-- stand: the event is not over. The conditions below keep the triggers off every other update.
-- +goose StatementBegin
CREATE FUNCTION keep_restarting_delivery() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM processed_event p WHERE p.event_id = OLD.event_id AND p.restarting_at IS NOT NULL AND p.status = 'PROCESSING') THEN
        RETURN NULL; -- the row stays as it is
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER notification_restarting
    BEFORE UPDATE OF status ON notification
    FOR EACH ROW
    WHEN (OLD.status = 'PENDING' AND NEW.status = 'CANCELLED')
    EXECUTE FUNCTION keep_restarting_delivery();

-- +goose StatementBegin
CREATE FUNCTION keep_restarting_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL; -- the row stays as it is
END
$$;
-- +goose StatementEnd

CREATE TRIGGER processed_event_restarting
    BEFORE UPDATE OF status ON processed_event
    FOR EACH ROW
    WHEN (OLD.status = 'PROCESSING' AND NEW.status = 'FAILED' AND NEW.restarting_at IS NOT NULL)
    EXECUTE FUNCTION keep_restarting_event();

-- +goose Down
DROP TRIGGER processed_event_restarting ON processed_event;
DROP FUNCTION keep_restarting_event();
DROP TRIGGER notification_restarting ON notification;
DROP FUNCTION keep_restarting_delivery();
DROP TABLE worker_promotion;
ALTER TABLE processed_event DROP COLUMN restarting_at;
