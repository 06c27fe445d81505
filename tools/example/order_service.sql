-- The order service writes these rows in each run of the example, in one transaction: orders
-- and their events commit together, or not at all. {run} is eight hexadecimal digits.

INSERT INTO orders.purchase (id, customer_id, total)
VALUES ('{run}-0000-4000-9000-000000000001', '42', 59.80),
       ('{run}-0000-4000-9000-000000000002', '43', 17.00);

INSERT INTO orders.outbox (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
VALUES ('{run}-0000-4000-8000-000000000001', 'Order', '{run}-0000-4000-9000-000000000001', 'OrderCreated',
        '{"eventId": "{run}-0000-4000-8000-000000000001", "customerId": 42, "items": ["Tiramisù", "Grappa"],  "total": 59.80}', 'NEW', now() AT TIME ZONE 'UTC'),
       ('{run}-0000-4000-8000-000000000002', 'Order', '{run}-0000-4000-9000-000000000002', 'OrderCreated',
        '{"eventId": "{run}-0000-4000-8000-000000000002", "customerId": 43, "items": ["Focaccia"], "total": 17.00}', 'NEW', now() AT TIME ZONE 'UTC');
