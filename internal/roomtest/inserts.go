package roomtest

const InsertDelivery = `INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, `

const InsertEscalation = `INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES `

const InsertEvent = `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES `

const InsertReceipt = `INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, outcome, detail) VALUES `

const InsertRetry = `INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) VALUES `

const InsertUserType = `INSERT INTO user_type (user_type, who, audience) VALUES `
