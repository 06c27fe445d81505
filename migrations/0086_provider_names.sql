-- Any provider can have receipts. The constraint is checked for old rows in 0087, without a lock
-- that stops the gateway.
-- +goose Up
ALTER TABLE delivery_receipt
    DROP CONSTRAINT delivery_receipt_provider,
    ADD CONSTRAINT delivery_receipt_provider CHECK (provider ~ '^[a-z]{1,20}$') NOT VALID;
COMMENT ON COLUMN delivery_receipt.provider IS 'sendgrid, twilio or vonage.';

-- +goose Down
ALTER TABLE delivery_receipt
    DROP CONSTRAINT delivery_receipt_provider,
    ADD CONSTRAINT delivery_receipt_provider CHECK (provider IN ('sendgrid', 'twilio')) NOT VALID;
COMMENT ON COLUMN delivery_receipt.provider IS 'sendgrid or twilio.';
