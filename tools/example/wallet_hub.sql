-- The wallet hub writes these rows in each run of the example, in one transaction.

INSERT INTO wallet.wallet (id, customer_id, balance)
VALUES ('{run}-0000-4000-a000-000000000001', '42', 0);

INSERT INTO wallet.outbox (event_type, payload, correlation_id, created_at)
VALUES ('WalletCreated', '{"walletId": "{run}-0000-4000-a000-000000000001", "customerId": 42}', NULL, now() AT TIME ZONE 'UTC');

UPDATE wallet.wallet
SET    balance = balance + 80.00 - 59.80
WHERE  id = '{run}-0000-4000-a000-000000000001';

INSERT INTO wallet.outbox (event_type, payload, correlation_id, created_at)
VALUES ('FundsAdded', '{"walletId": "{run}-0000-4000-a000-000000000001", "amount": 80.00}', 'topup-{run}', now() AT TIME ZONE 'UTC'),
       -- This payload is not JSON: the topic gets it unchanged.
       ('FundsWithdrawn', '59.80 from wallet {run}-0000-4000-a000-000000000001', 'order-{run}', now() AT TIME ZONE 'UTC');
