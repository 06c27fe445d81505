-- +goose NO TRANSACTION
-- +goose Up
-- A form of the console gives one order.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS operator_action_form ON operator_action (form) WHERE form IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS operator_action_form;
