package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ownDirectory prepares a test's mistakes: it renames two tables of the directory, and replaces
// entity_member by a view.
const ownDirectory = `
	ALTER TABLE recipient_device DROP CONSTRAINT IF EXISTS recipient_device_of_recipient;
	ALTER TABLE entity_member DROP CONSTRAINT IF EXISTS entity_member_is_recipient;
	ALTER TABLE recipient RENAME TO person;
	ALTER TABLE entity_member RENAME TO membership;
	CREATE VIEW entity_member AS SELECT * FROM membership;`

// ours is a view that leaves the example as it is.
const ours = `CREATE VIEW recipient AS SELECT * FROM person;`

// people begins a view that adds rows to the example. Each test appends a query with its columns. It
// lacks webhook_url, as a view may.
const people = `CREATE VIEW recipient AS SELECT user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, active
	FROM person UNION ALL `

// TestMistakes makes each mistake in a separate database. The check finds this mistake and no
// other. The whole sentences are in starter/testdata/check/.
func TestMistakes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		sql     string
		event   string            // the payload of an ORDER_PAID event to write
		changes map[string]string // to the environment
		where   string
		problem string
		remedy  string // empty: a row of the check gives it
	}{
		// The directory.
		{name: "no table", sql: `DROP TABLE recipient_device`, where: "recipient_device", problem: "no such table or view"},
		{name: "column missing", sql: ownDirectory + `CREATE VIEW recipient AS
				SELECT user_type, user_id, name, email, phone, slack_webhook_url, locale, active FROM person`,
			where: "recipient column timezone", problem: "missing"},
		{name: "no column active", sql: ownDirectory + `CREATE VIEW recipient AS
				SELECT user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone FROM person`,
			where: "recipient column active", problem: "missing", remedy: "true AS active"},
		{name: "no column user_id", sql: ownDirectory + `CREATE VIEW recipient AS
				SELECT user_type, name, email, phone, slack_webhook_url, locale, timezone, active FROM person`,
			where: "recipient column user_id", problem: "missing"},
		{name: "no column for names", sql: `DROP TABLE entity_name;
				CREATE VIEW entity_name AS SELECT 'ORDER' AS entity_type, 7 AS entity_id`,
			where: "entity_name column name", problem: "missing", remedy: "NULL::text AS name"},
		{name: "nobody is active", sql: `UPDATE recipient SET active = false`, where: "recipient active", problem: "people is active"},
		{name: "active is null", sql: ownDirectory + `CREATE VIEW recipient AS
				SELECT user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, NULL::boolean AS active FROM person`,
			where: "recipient active", problem: "people is active"},
		{name: "type that cannot be cast", sql: ownDirectory + `CREATE VIEW recipient AS
				SELECT user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, now() AS active FROM person`,
			where: "recipient column active", problem: "timestamp with time zone where Herald reads boolean"},
		{name: "values that cannot be cast", sql: ownDirectory + `CREATE VIEW recipient AS
				SELECT user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, email AS active FROM person`,
			where: "recipient column active", problem: "some of its values cannot be cast"},
		{name: "no user type", sql: ownDirectory + people + `SELECT NULL, '1', '', '', '', '', 'en', 'UTC', true`,
			where: "recipient user_type", problem: "1 row has no user_type"},
		{name: "empty id", sql: ownDirectory + people + `SELECT 'CUSTOMER', '', '', '', '', '', 'en', 'UTC', true`,
			where: "recipient user_id", problem: "no user_id"},
		{name: "long id", sql: ownDirectory + people + `SELECT 'CUSTOMER', repeat('x', 65), '', '', '', '', 'en', 'UTC', true`,
			where: "recipient user_id", problem: "more than 64 bytes"},
		{name: "user twice", sql: ownDirectory + people + `SELECT 'CUSTOMER', '42', '', '', '', '', 'en', 'UTC', true`,
			where: "recipient user_type, user_id", problem: "the same user as another row"},
		{name: "unknown user type", sql: ownDirectory + people + `SELECT 'DOCTOR', 'd1', '', '', '', '', 'en', 'UTC', true
				FROM generate_series(1, 1)`,
			where: "recipient user_type DOCTOR", problem: "not in user_type"},
		{name: "member of an unknown type", sql: ownDirectory + ours + `INSERT INTO membership VALUES ('CLINIC', '1', 'DOCTOR', 'd1', 'MANAGER')`,
			where: "entity_member user_type DOCTOR", problem: "not in user_type"},
		{name: "unknown member", sql: ownDirectory + ours + `INSERT INTO membership
				VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', 'ghost1', 'MANAGER'), ('RESTAURANT', '6', 'RESTAURANT_USER', 'ghost2', 'MANAGER')`,
			where: "entity_member RESTAURANT/RESTAURANT_USER", problem: "2 rows have a user who is not in recipient"},
		{name: "zone", sql: `UPDATE recipient SET timezone = 'europe/rome' WHERE user_id = '42'`,
			where: "recipient timezone europe/rome", problem: "does not know"},
		{name: "zone of a group", sql: `UPDATE entity_notification_settings SET quiet_hours_timezone = 'PST' WHERE entity_id = '5'`,
			where: "entity_notification_settings quiet_hours_timezone PST", problem: "does not know"},
		{name: "zone that somebody set", sql: `INSERT INTO user_settings (user_type, user_id, timezone) VALUES ('CUSTOMER', '42', 'PST')`,
			where: "user_settings timezone PST", problem: "does not know"},
		{name: "value that may be an address", sql: ownDirectory + people + `SELECT
				'CUSTOMER', '1', '', '', '', '', 'en', 'ada@example.com', true`,
			where: "recipient timezone (a value that is not shown)", problem: "does not know"},
		{name: "mail addresses that cannot work", sql: `UPDATE recipient SET email = CASE user_id WHEN '42' THEN 'secret smith@example.com'
				ELSE ' secret @example.com' END WHERE user_id IN ('42', '43')`,
			where:   "recipient email",
			problem: "2 rows have an e-mail address with a space inside, so each EMAIL to them fails: CUSTOMER/42, CUSTOMER/43"},
		{name: "phone number that cannot work", sql: `UPDATE recipient SET phone = '+41 (0)79 123 45 67' WHERE user_id = '43';
				UPDATE recipient SET phone = ' +41 79-123-45-67' WHERE user_id = '42'`,
			where:   "recipient phone",
			problem: "dialled only inside the country, so each SMS to them fails: CUSTOMER/43"},
		{name: "webhook elsewhere", sql: `UPDATE recipient SET slack_webhook_url = 'https://evil.example.com/services/secret'
				WHERE user_id IN ('42', '43')`,
			where:   "recipient slack_webhook_url",
			problem: "2 rows have a webhook to which nothing is sent: the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		{name: "webhook in clear text", sql: `UPDATE recipient SET webhook_url = 'http://hooks.example.com/secret' WHERE user_id = '42'`,
			where: "recipient webhook_url", problem: "1 row has a webhook to which nothing is sent: webhook is not https"},

		// The rules.
		{name: "no routing", event: `{}`, sql: "", where: "event_type_channel_routing ORDER_PAID", problem: "evt-1"},
		{name: "no recipients", event: `{}`, sql: route + `UPDATE event_outbox SET aggregate_type = 'ORDER'`,
			where: "event_type_recipients ORDER_PAID", problem: "aggregate type ORDER has no default recipients"},
		{name: "path", event: `{"customerId": 42}`, sql: route + recipients + `('ORDER_PAID', 'CUSTOMER', 'CUSTOMER', 'customer_id')`,
			where: "event_type_recipients ORDER_PAID/CUSTOMER/CUSTOMER/customer_id", problem: "customer_id is not in the payload"},
		{name: "path into a list", sql: recipients + `('ORDER_PAID', 'CUSTOMER', 'CUSTOMER', '$.customers[0].id')`,
			where: "event_type_recipients ORDER_PAID/CUSTOMER/CUSTOMER/$.customers[0].id", problem: "$.customers[0].id reads a list"},
		{name: "path of JSONPath, and an event", event: `{"customer": {"id": 42}}`, sql: route + recipients + `('ORDER_PAID', 'CUSTOMER',
				'CUSTOMER', 'customerId,$.customer.id')`,
			where:   "event_type_recipients ORDER_PAID/CUSTOMER/CUSTOMER/customerId,$.customer.id",
			problem: "$.customer.id is not a path in Herald's form: write customer.id"},
		{name: "path of a time", sql: `INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path)
				VALUES ('ORDER_PAID', 'EMAIL', 'DELAYED', '$.at')`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "write at"},
		{name: "invalid send time", event: `{"at": "tomorrow"}`, sql: `INSERT
				INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path)
				VALUES ('ORDER_PAID', 'EMAIL', 'DELAYED', 'at')`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "at is not a time with a zone"},
		{name: "nobody is a member", sql: recipients + `('ORDER_PAID', NULL, 'CLINIC', 'clinicId')`,
			where: "event_type_recipients ORDER_PAID/any/CLINIC/clinicId", problem: "no active member of any CLINIC"},
		{name: "no member of the type", sql: recipients + `('ORDER_PAID', 'GUEST', 'RESTAURANT', 'restaurantId')`,
			where: "event_type_recipients ORDER_PAID/GUEST/RESTAURANT/restaurantId", problem: "is of type GUEST"},
		{name: "no member with the role", sql: recipientsWithRoles + `('ORDER_PAID', NULL, 'RESTAURANT', 'restaurantId', '{MANAGERS}')`,
			where: "event_type_recipients ORDER_PAID/any/RESTAURANT/restaurantId", problem: "roles MANAGERS"},
		{name: "customers of another type", sql: recipients + `('ORDER_PAID', 'GUEST', 'CUSTOMER', 'guestId')`,
			where: "event_type_recipients ORDER_PAID/GUEST/CUSTOMER/guestId", problem: "the row wants GUEST"},
		{name: "no channel serves the type", sql: route + recipients + `('ORDER_PAID', 'CUSTOMER', 'CUSTOMER', 'customerId'); DELETE
				FROM channel_user_type WHERE channel_type = 'EMAIL' AND user_type = 'CUSTOMER'`,
			where: "event_type_recipients ORDER_PAID/CUSTOMER/CUSTOMER/customerId", problem: "none of the channels"},
		{name: "allowed roles", sql: `UPDATE entity_notification_settings SET allowed_roles = '{BOSS}' WHERE entity_id = '5'`,
			where: "entity_notification_settings RESTAURANT/5/SMS/every event type", problem: "only the roles BOSS"},
		{name: "routing for a role that nobody has", sql: route + `UPDATE event_type_channel_routing SET roles = '{MANAGER,BOSS}'
				WHERE event_type = 'ORDER_PAID'`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "no active member of any entity has the role BOSS"},
		{name: "routing for no role", sql: route + `UPDATE event_type_channel_routing SET roles = '{}' WHERE event_type = 'ORDER_PAID'`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "nobody gets the channel"},
		{name: "no throttle key", event: `{"customerId": 42}`, sql: route + recipients + `('ORDER_PAID',
				'CUSTOMER', 'CUSTOMER', 'customerId'); UPDATE event_type_channel_routing
				SET throttle_window = '1 hour', throttle_key_path = 'sensor' WHERE event_type = 'ORDER_PAID'`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "evt-1 has no value at throttle_key_path sensor"},
		{name: "schema that does not compile", sql: schema + `('ORDER_PAID', '{"$ref": "https://example.com/schema.json"}')`,
			where: "event_type_schema ORDER_PAID", problem: "a $ref must stay in payload_schema"},
		{name: "schema that refuses an event", event: `{"customerId": 42, "secret@example.com": 1}`, sql: route + recipients + `('ORDER_PAID',
				'CUSTOMER', 'CUSTOMER', 'customerId'); ` + schema + `('ORDER_PAID', '{"properties": {"customerId": {}},
				"additionalProperties": false}')`,
			where: "event_type_schema ORDER_PAID", problem: "it refuses 1 of the last 1 events of its type, such as evt-1: payload (a value that is not shown): is not"},
		{name: "expires before it is due", sql: route + `UPDATE event_type_channel_routing
				SET delivery_strategy = 'DELAYED', delay = '1 hour', expires_after = '30 minutes' WHERE event_type = 'ORDER_PAID'`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "wait 1h0m0s and expire after 30m0s"},
		{name: "cap of an unknown category", sql: `INSERT INTO frequency_cap (channel_type, category, spacing)
				VALUES ('SMS', 'promotions', '1 hour')`,
			where: "frequency_cap SMS/promotions", problem: "no event type has the category"},
		{name: "cap that is never reached", sql: `INSERT INTO frequency_cap (channel_type, at_most, per, spacing)
				VALUES ('SMS', 3, '2 hours', '1 hour')`,
			where: "frequency_cap SMS/every category", problem: "never reached"},
		{name: "approval of an unrouted type", sql: `INSERT INTO event_type_approval (event_type, over) VALUES ('PROMOTIONS', 1000)`,
			where: "event_type_approval PROMOTIONS", problem: "no channel is routed"},
		{name: "category without event types", sql: `UPDATE event_category SET category = 'promotions' WHERE category = 'offers'`,
			where: "user_category_preferences category offers", problem: "1 row has this category, which no event type has"},
		{name: "category of every type", sql: `INSERT INTO event_category (event_type, category) VALUES ('*', 'offers')`,
			where: "event_category *", problem: "no event type"},
		{name: "nothing escalates to it", sql: `DELETE FROM event_type_escalation WHERE from_channel = 'SMS'`,
			where: "event_type_channel_routing TABLE_OFFERED/EMAIL", problem: "nothing escalates to it"},
		{name: "a digest escalates", sql: `UPDATE event_type_channel_routing SET delivery_strategy = 'AGGREGATE'
				WHERE event_type = 'TABLE_OFFERED' AND channel_type = 'PUSH'`,
			where: "event_type_escalation TABLE_OFFERED/PUSH", problem: "PUSH is AGGREGATE"},
		{name: "nobody can read it", sql: `DELETE FROM event_type_channel_routing
				WHERE event_type = 'TABLE_OFFERED' AND channel_type = 'WEBSOCKET'`,
			where: "event_type_escalation TABLE_OFFERED/PUSH", problem: "SMS always follows"},

		// The templates.
		{name: "no template", sql: route + `DELETE FROM notification_template WHERE event_type = '*'; ` + template + `('CHAT_MESSAGE_SENT',
				'*', 'en', 'x', 'x'), ('ORDER_PAID', '*', 'it', 'x', 'x')`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "no template ORDER_PAID/EMAIL in en"},
		{name: "no template for digests", sql: `DELETE FROM notification_template
				WHERE event_type IN ('*', 'digest'); ` + template + `('CHAT_MESSAGE_SENT', '*', 'en', 'x', 'x')`,
			where: "event_type_channel_routing REVIEW_POSTED/EMAIL", problem: "no template digest/EMAIL"},
		{name: "template that does not parse", sql: template + `('ORDER_PAID', 'SMS', 'en', 'x', '{{.payload.')`,
			where: "notification_template ORDER_PAID/SMS/en", problem: "cannot be parsed"},
		{name: "layout that is missing", sql: `INSERT INTO notification_template (event_type, channel, title, body, layout)
				VALUES ('ORDER_PAID', 'SMS', 'x', 'x', 'page')`,
			where: "notification_template ORDER_PAID/SMS/en", problem: "layout page: notification_layout has it neither in"},
		{name: "layout without a block", sql: layout + `('page', 'Bye')`,
			where: "notification_template ORDER_PAID/EMAIL/en", problem: "layout page: it has no {{block}}"},
		{name: "layout that does not parse", sql: layout + `('page', '{{block}} {{if}}')`,
			where: "notification_template ORDER_PAID/EMAIL/en", problem: "layout page: cannot be parsed"},
		{name: "layout with a field that it has not", sql: layout + `('page', '{{block}} {{.payload.name}}')`,
			where: "notification_template ORDER_PAID/EMAIL/en", problem: "layout page: it names a field other than"},
		{name: "no root, without an event", sql: template + `('ORDER_PAID', 'SMS', 'en', 'x', 'Hello {{.customer.name}}')`,
			where: "notification_template ORDER_PAID/SMS/en", problem: "write {{.payload.customer.name}}"},
		{name: "missing key", event: `{"title": "x"}`, sql: route + template + `('ORDER_PAID',
				'*', 'en', '{{.payload.title}}', '{{.payload.name}}')`,
			where:   "notification_template ORDER_PAID/*/en",
			problem: `key "name" is missing, in 1 of the last 1 events of type ORDER_PAID, such as evt-1`},
		{name: "printf that does not fit", event: `{"total": 12.5}`, sql: route + template + `('ORDER_PAID',
				'*', 'en', 'x', '{{printf "%d" .payload.total}}')`,
			where:   "notification_template ORDER_PAID/*/en",
			problem: `body: key "total" does not fit the format of its printf, in 1 of the last 1 events of type ORDER_PAID, such as evt-1`},
		{name: "a link that is blocked", event: `{"link": "otherapp://x", "mine": "myapp://x"}`, sql: route + template + `('ORDER_PAID',
				'EMAIL', 'en', 'x', '<a href="{{.payload.link}}"><a href="{{.payload.mine}}">')`,
			where: "notification_template ORDER_PAID/EMAIL/en", problem: `body: key "link" is not a link that is allowed`},
		{name: "a link over SLACK that is blocked", event: `{"link": "!channel"}`, sql: route + `INSERT INTO event_type_channel_routing
				(event_type, channel_type) VALUES ('ORDER_PAID', 'SLACK');
				` + template + `('ORDER_PAID', 'SLACK', 'en', 'x', '<{{.payload.link}}|Open>')`,
			where: "notification_template ORDER_PAID/SLACK/en", problem: `body: key "link" is not a link that is allowed`},
		{name: "missing key in an escalation template", event: `{"title": "x"}`, sql: escalated + template + `('ORDER_PAID', '*', 'en',
				'{{.payload.title}}', 'x'), ('ORDER_PAID.escalated', '*', 'en', 'x', '{{.payload.name}}')`,
			where:   "notification_template ORDER_PAID.escalated/*/en",
			problem: `key "name" is missing, in 1 of the last 1 events of type ORDER_PAID, such as evt-1`},
		{name: "no template for escalations", sql: escalated + `DELETE FROM notification_template
				WHERE event_type = '*'; ` + template + `('CHAT_MESSAGE_SENT', '*', 'en', 'x', 'x'), ('ORDER_PAID', 'SMS', 'en', 'x', 'x')`,
			where: "event_type_channel_routing ORDER_PAID/EMAIL", problem: "no template ORDER_PAID/EMAIL in en"},
		{name: "key that digests lack", sql: template + `('digest', 'EMAIL', 'de', 'x', '{{.payload.name}}'); UPDATE recipient
				SET locale = 'de' WHERE user_id = '42'`,
			where: "notification_template digest/EMAIL/de", problem: "a digest has .Items, .recipient, .event.type, .reason"},

		{name: "url that leads elsewhere", sql: link + `('ORDER_PAID', '*', 'en', 'x', 'x', 'javascript:alert({{.payload.id}})')`,
			where: "notification_template ORDER_PAID/*/en", problem: "the url must be https"},
		{name: "url of a missing key", event: `{"title": "x"}`, sql: linked + `('ORDER_PAID', '*', 'en', 'x', 'x', '/orders/{{.payload.id}}')`,
			where:   "notification_template ORDER_PAID/*/en",
			problem: `key "id" is missing, in 1 of the last 1 events of type ORDER_PAID, such as evt-1`},
		{name: "url of an event that leads elsewhere", event: `{"page": "//evil.example.com"}`, sql: linked + `('ORDER_PAID', '*', 'en',
				'x', 'x', '{{.payload.page}}')`,
			where: "notification_template ORDER_PAID/*/en", problem: "the url must be https://…, or a path that begins with one slash, in 1 of"},

		// The channels.
		{name: "no key of SendGrid", changes: map[string]string{"SENDGRID_API_KEY": ""},
			where: "settings of EMAIL", problem: "SENDGRID_API_KEY is not set"},
		{name: "no account of Twilio", changes: map[string]string{"TWILIO_ACCOUNT_SID": "", "TWILIO_AUTH_TOKEN": ""},
			where: "settings of SMS", problem: "TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN are not set"},
		{name: "no project of Firebase", changes: map[string]string{"FCM_PROJECT_ID": ""},
			where: "settings of PUSH", problem: "FCM_PROJECT_ID is not set"},
		{name: "malformed setting", changes: map[string]string{"EMAIL_FROM": "nobody"}, where: "settings", problem: "EMAIL_FROM must be"},
		{name: "channel that serves nobody", sql: `DELETE FROM channel_user_type WHERE channel_type = 'SLACK'`,
			where: "channel_user_type SLACK", problem: "serves no user type"},
		{name: "provider that does not answer", changes: map[string]string{"SENDGRID_BASE_URL": "http://127.0.0.1:1"},
			where: "provider of EMAIL 127.0.0.1:1", problem: "no connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			i := newInstallation(t)
			if tt.event != "" {
				i.event(t, "evt-1", "ORDER_PAID", "CUSTOMER", tt.event)
			}
			i.exec(t, tt.sql)
			found := i.check(t, tt.changes).Mistakes

			require.Len(t, found, 1)
			require.Equal(t, tt.where, found[0].Where())
			require.Contains(t, found[0].Problem, tt.problem)
			require.Contains(t, found[0].Remedy, tt.remedy)
			require.NotEmpty(t, found[0].Remedy)
			require.Empty(t, i.sent(t), "a check sends nothing")
		})
	}
}

// Table names and the beginnings of SQL statements.
const (
	route               = `INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('ORDER_PAID', 'EMAIL'); `
	recipients          = `INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path) VALUES `
	recipientsWithRoles = `INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles) VALUES `
	escalated           = `INSERT INTO event_type_channel_routing (event_type, channel_type, on_escalation_only)
				VALUES ('ORDER_PAID', 'SMS', false), ('ORDER_PAID', 'EMAIL', true); INSERT INTO event_type_escalation
				VALUES ('ORDER_PAID', 'SMS', 'EMAIL', '1 hour', 'DELIVERED'); `
	layout = `INSERT INTO notification_template (event_type, channel, title, body, layout)
				VALUES ('ORDER_PAID', 'EMAIL', 'x', 'x', 'page'); INSERT INTO notification_layout (name, body) VALUES `
	schema   = `INSERT INTO event_type_schema (event_type, payload_schema) VALUES `
	link     = `INSERT INTO notification_template (event_type, channel, locale, title, body, url) VALUES `
	linked   = `INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('ORDER_PAID', 'WEBSOCKET'); ` + link
	template = `INSERT INTO notification_template (event_type, channel, locale, title, body) VALUES `
)
