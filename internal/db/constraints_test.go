package db_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

const (
	insertDelivery           = `INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, `
	insertEscalation         = `INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES `
	insertEvent              = `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES `
	insertReceipt            = `INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, outcome, detail) VALUES `
	insertRetry              = `INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) VALUES `
	insertUserType           = `INSERT INTO user_type (user_type, who, audience) VALUES `
	insertSenderCount        = `INSERT INTO sender_count (channel, provider, sender, since, kind, recipients) VALUES `
	insertSuppression        = `INSERT INTO recipient_suppression (channel, address_hash, reason, detail) VALUES `
	insertPreferenceChange   = `INSERT INTO preference_change (user_type, user_id, setting, old_value, new_value) VALUES `
	insertCategoryPreference = `INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled) VALUES `
	insertFollow             = `INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id) VALUES `
	insertMute               = `INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) VALUES `
	deliveryValues           = `) VALUES ('evt-2', 'T', 'CUSTOMER', '1', 'EMAIL', 'd2', 'title', 'body', `
)

// routeWith, settingWith and preferenceWith insert a row that sets more columns than its key.
func routeWith(columns, values string) string {
	return rowWith("event_type_channel_routing (event_type, channel_type, ", columns, "('T', 'SMS', ", values)
}

func settingWith(columns, values string) string {
	return rowWith("entity_notification_settings (entity_type, entity_id, channel_type, ", columns, "('RESTAURANT', '5', 'SMS', ", values)
}

func preferenceWith(columns, values string) string {
	return rowWith("user_notification_preferences (user_type, user_id, channel_type, ", columns, "('CUSTOMER', '1', 'SMS', ", values)
}

func rowWith(table, columns, key, values string) string {
	return "INSERT INTO " + table + columns + ") VALUES " + key + values + ")"
}

// inserts returns a statement for each of the ends, all with the same beginning.
func inserts(begin string, ends ...string) []string {
	return roomtest.Mapped(ends, func(end string) string { return begin + end })
}

// refusals holds, for each constraint of the schema, statements that it refuses. The
// directory has customer 1, with delivery d1 of evt-1 and one attempt.
var refusals = map[string][]string{
	"event_outbox_status":                   {`UPDATE event_outbox SET status = 'DONE'`},
	"event_outbox_published_once_processed": inserts(`UPDATE event_outbox SET `, `status = 'PROCESSED'`, `published_at = now()`),
	"event_outbox_failed_says_why":          {`UPDATE event_outbox SET status = 'FAILED'`},
	"event_outbox_leased_while_pending": {
		`UPDATE event_outbox SET status = 'FAILED', error_message = 'x', lease_owner = 'a', lease_until = now()`,
	},
	"event_outbox_traceparent": inserts(`UPDATE event_outbox SET `, `traceparent = repeat('0', 101)`, `traceparent = E'00\n'`),
	"event_outbox_created_at": inserts(`UPDATE event_outbox SET `,
		`created_at = 'infinity'`, `created_at = '1969-12-31 23:59:59Z'`, `created_at = '10000-01-01 00:00Z'`),
	"event_outbox_expires_at":    {`UPDATE event_outbox SET expires_at = '10000-01-01 00:00Z'`},
	"event_outbox_cancels_types": {`UPDATE event_outbox SET cancels_types = '{T}'`},
	"event_outbox_lease_has_end": inserts(`UPDATE event_outbox SET `, `lease_owner = 'a'`, `lease_until = now()`),
	"event_outbox_attempt_count": {`UPDATE event_outbox SET attempt_count = -1`},
	"event_outbox_event_id_length": inserts(insertEvent,
		`('', 'T', 'RESTAURANT', 5, '{}')`, `(repeat('x', 151), 'T', 'RESTAURANT', 5, '{}')`,
		`(repeat('é', 76), 'T', 'RESTAURANT', 5, '{}')`),
	"event_outbox_event_id_printable": {insertEvent + `(E'evt\n2', 'T', 'RESTAURANT', 5, '{}')`},
	"event_outbox_event_type_length": inserts(insertEvent,
		`('e', '', 'RESTAURANT', 5, '{}')`, `('e', repeat('x', 101), 'RESTAURANT', 5, '{}')`),
	"event_outbox_aggregate_type_length": inserts(insertEvent, `('e', 'T', '', 5, '{}')`, `('e', 'T', repeat('x', 101), 5, '{}')`),
	"event_outbox_aggregate_id_length": inserts(insertEvent,
		`('e', 'T', 'RESTAURANT', '', '{}')`, `('e', 'T', 'RESTAURANT', repeat('5', 101), '{}')`),
	"event_outbox_correlation_id_length":    {`UPDATE event_outbox SET correlation_id = repeat('x', 256)`},
	"event_outbox_event_type_printable":     {insertEvent + `('e', E'T\x1b[2J', 'RESTAURANT', 5, '{}')`},
	"event_outbox_aggregate_type_printable": {insertEvent + `('e', 'T', E'RESTAURANT\u009b', 5, '{}')`},
	"event_outbox_aggregate_id_printable":   {insertEvent + `('e', 'T', 'RESTAURANT', E'5\nevt-2', '{}')`},
	"event_outbox_correlation_id_printable": {`UPDATE event_outbox SET correlation_id = E'c\u202e'`},
	"event_outbox_payload_object": inserts(insertEvent,
		`('e', 'T', 'RESTAURANT', 5, '[]')`, `('e', 'T', 'RESTAURANT', 5, 'null')`, `('e', 'T', 'RESTAURANT', 5, '"text"')`),
	"event_outbox_payload_size":         {insertEvent + `('e', 'T', 'RESTAURANT', 5, jsonb_build_object('text', repeat('x', 262144)))`},
	"event_outbox_source":               inserts(`UPDATE event_outbox SET `, `source = ''`, `source = 'Orders'`, `source = repeat('x', 31)`),
	"event_outbox_aggregate_type_given": {insertEvent + `('e', 'T', NULL, 5, '{}')`},
	"event_outbox_aggregate_id_given":   {insertEvent + `('e', 'T', 'RESTAURANT', NULL, '{}')`},
	"event_outbox_payload_given":        {insertEvent + `('e', 'T', 'RESTAURANT', 5, NULL)`},
	"processed_event_status":            {`INSERT INTO processed_event (event_id, status) VALUES ('e', 'DONE')`},
	"poller_number":                     {`INSERT INTO poller (source, number) VALUES ('herald', 0)`},
	"recipient_user_type":               {`INSERT INTO recipient (user_type, user_id) VALUES ('STAFF', '1')`},
	"recipient_user_id_length": inserts(`INSERT INTO recipient (user_type, user_id) VALUES `,
		`('CUSTOMER', '')`, `('CUSTOMER', repeat('1', 65))`),
	"recipient_user_id_printable":   {`INSERT INTO recipient (user_type, user_id) VALUES ('CUSTOMER', E'1\t2')`},
	"recipient_device_of_recipient": {`INSERT INTO recipient_device (user_type, user_id, token) VALUES ('CUSTOMER', '404', 't')`},
	"recipient_device_token_length": inserts(`INSERT INTO recipient_device (user_type, user_id, token) VALUES `,
		`('CUSTOMER', '1', '')`, `('CUSTOMER', '1', repeat('t', 1025))`),
	"entity_member_is_recipient": {
		`INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('RESTAURANT', '5', 'CUSTOMER', '404', 'STAFF')`,
	},
	"event_type_recipients_once": {
		`INSERT INTO event_type_recipients (event_type, entity_type) VALUES ('T', 'ADMIN'), ('T', 'ADMIN')`,
	},
	"event_type_recipients_user_type": {
		`INSERT INTO event_type_recipients (event_type, user_type, entity_type) VALUES ('T', 'STAFF', 'ADMIN')`,
	},
	"event_type_recipients_path": {
		`INSERT INTO event_type_recipients (event_type, entity_type, entity_id_path) VALUES ('T', 'RESTAURANT', '')`,
		`INSERT INTO event_type_recipients (event_type, entity_type) VALUES ('T', 'RESTAURANT')`,
	},
	"event_type_channel_routing_channel":  {`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'FAX')`},
	"event_type_channel_routing_strategy": {routeWith(`delivery_strategy`, `'LATER'`)},
	"event_type_channel_routing_delay":    {routeWith(`delay`, `'-1 second'`), routeWith(`delay`, `'31 days'`)},
	"event_type_channel_routing_priority": {routeWith(`priority`, `'URGENT'`)},
	"user_notification_preferences_channel": {
		`INSERT INTO user_notification_preferences (user_type, user_id, channel_type) VALUES ('CUSTOMER', '1', 'FAX')`,
	},
	"user_notification_preferences_priority":   {preferenceWith(`priority`, `'URGENT'`)},
	"event_type_channel_routing_digest_window": {routeWith(`digest_window`, `'0'`), routeWith(`digest_window`, `'8 days'`)},
	"event_type_channel_routing_delayed": {
		routeWith(`delivery_strategy`, `'DELAYED'`),
		routeWith(`delivery_strategy, delay, send_at_path`, `'DELAYED', '1 hour', 'startsAt'`),
	},
	"event_type_channel_routing_send_at_path": {
		routeWith(`delivery_strategy, send_at_path`, `'DELAYED', ''`),
		routeWith(`send_at_path`, `'startsAt'`),
		routeWith(`delivery_strategy, send_at_path`, `'AGGREGATE', 'startsAt'`),
	},
	"event_type_channel_routing_expires_after": {routeWith(`expires_after`, `'999 milliseconds'`), routeWith(`expires_after`, `'366 days'`)},
	"event_type_channel_routing_digest_at": {
		routeWith(`digest_at`, `'09:00'`),
		routeWith(`digest_first`, `true`),
		routeWith(`delivery_strategy, digest_at`, `'AGGREGATE', '24:00'`),
	},
	"event_type_channel_routing_digest_days": {
		routeWith(`delivery_strategy, digest_days`, `'AGGREGATE', 'mon'`),
		routeWith(`delivery_strategy, digest_at, digest_days`, `'AGGREGATE', '09:00', 'monday'`),
	},
	"event_type_channel_routing_digest_first": {
		routeWith(`delivery_strategy, digest_first, throttle_window`, `'AGGREGATE', true, '1 hour'`),
	},
	"event_type_channel_routing_throttle_window": {
		routeWith(`throttle_window`, `'999 milliseconds'`),
		routeWith(`throttle_window`, `'31 days'`),
	},
	"event_type_channel_routing_throttle_key": {routeWith(`throttle_key_path`, `'sensor'`)},
	"delivery_receipt_harm":                   {`INSERT INTO delivery_receipt (provider, receipt_id, at, status, harm) VALUES ('sendgrid', 'r', now(), 's', 'SPAM')`},
	"sender_count_channel":                    {insertSenderCount + `('FAX', 'p', 's', now(), 'BLOCK', '{1}')`},
	"sender_count_kind":                       {insertSenderCount + `('SMS', 'p', 's', now(), 'SPAM', '{1}')`},
	"sender_count_size": {
		insertSenderCount + `('SMS', 'p', 's', now(), 'BLOCK', '{}')`,
		insertSenderCount + `('SMS', 'p', 's', now(), 'BLOCK', array_fill(1, ARRAY [4097]))`,
	},
	"sender_state_channel": {`INSERT INTO sender_state (channel, provider, sender) VALUES ('FAX', 'p', 's')`},
	"sender_state_counts":  {`INSERT INTO sender_state (channel, provider, sender, bounces) VALUES ('SMS', 'p', 's', -1)`},
	"sender_state_resumed": {
		`INSERT INTO sender_state (channel, provider, sender, resumed_at, resumed_by) VALUES ('SMS', 'p', 's', now(), 'anna')`,
	},
	"provider_state_provider_check": {`INSERT INTO provider_state (provider) VALUES ('Twilio 2')`},
	"provider_state_rests_check":    {`INSERT INTO provider_state (provider, rests, rests_until) VALUES ('twilio', -1, NULL)`},
	"provider_state_rests": {
		`INSERT INTO provider_state (provider, rests) VALUES ('twilio', 1)`,
		`INSERT INTO provider_state (provider, rests_until) VALUES ('twilio', now())`,
	},
	"provider_state_failure_check": {`INSERT INTO provider_state (provider, failure) VALUES ('twilio', repeat('x', 501))`},
	"provider_state_override_check": {
		`INSERT INTO provider_state (provider, override, override_by) VALUES ('twilio', 'OFF', 'anna')`,
	},
	"provider_state_override": {
		`INSERT INTO provider_state (provider, override) VALUES ('twilio', 'PAUSED')`,
		`INSERT INTO provider_state (provider, override_by) VALUES ('twilio', 'anna')`,
	},
	"delivery_count_channel":    {`INSERT INTO delivery_count (since, channel, status, count) VALUES (now(), 'FAX', 'SENT', 1)`},
	"delivery_count_positive":   {`INSERT INTO delivery_count (since, channel, status, count) VALUES (now(), 'SMS', 'SENT', 0)`},
	"preference_change_setting": {insertPreferenceChange + `('CUSTOMER', '1', 'EMAIL', NULL, 'x')`},
	"merged_recipient_differs": {
		`INSERT INTO merged_recipient (user_type, user_id, to_user_type, to_user_id) VALUES ('GUEST', '1', 'GUEST', '1')`,
	},
	"event_type_channel_routing_once_per_address": {
		`INSERT INTO event_type_channel_routing (event_type, channel_type, once_per_address) VALUES ('T', 'PUSH', true)`,
		`UPDATE event_type_channel_routing SET once_per_address = true WHERE channel_type = 'WEBSOCKET'`,
	},
	"preference_change_differs": inserts(insertPreferenceChange,
		`('CUSTOMER', '1', 'ENABLED', 'true', 'true')`, `('CUSTOMER', '1', 'TIMEZONE', NULL, NULL)`),
	"throttle_user_type": {
		`INSERT INTO throttle (user_type, user_id, event_type, channel_type, throttle_key) VALUES ('DOCTOR', '1', 'T', 'SMS', '')`,
	},
	"throttle_channel": {
		`INSERT INTO throttle (user_type, user_id, event_type, channel_type, throttle_key) VALUES ('CUSTOMER', '1', 'T', 'FAX', '')`,
	},
	"frequency_cap_channel": {`INSERT INTO frequency_cap (channel_type, spacing) VALUES ('FAX', '1 hour')`},
	"frequency_cap_at_most": inserts(`INSERT INTO frequency_cap (channel_type, at_most, per) VALUES `,
		`('SMS', 0, '1 hour')`, `('SMS', 101, '1 hour')`),
	"frequency_cap_per":     {`INSERT INTO frequency_cap (channel_type, at_most, per) VALUES ('SMS', 1, '32 days')`},
	"frequency_cap_spacing": {`INSERT INTO frequency_cap (channel_type, spacing) VALUES ('SMS', '999 milliseconds')`},
	"frequency_cap_action":  {`INSERT INTO frequency_cap (channel_type, spacing, action) VALUES ('SMS', '1 hour', 'WAIT')`},
	"frequency_cap_once":    {`INSERT INTO frequency_cap (channel_type, spacing) VALUES ('SMS', '1 hour'), ('SMS', '2 hours')`},
	"frequency_cap_limit": {
		`INSERT INTO frequency_cap (channel_type) VALUES ('SMS')`,
		`INSERT INTO frequency_cap (channel_type, at_most, spacing) VALUES ('SMS', 1, '1 hour')`,
	},
	"event_type_channel_routing_send_before": {
		routeWith(`delivery_strategy, send_at_path, send_before`, `'DELAYED', 'startsAt', '-1 hour'`),
		routeWith(`delivery_strategy, send_at_path, send_before`, `'DELAYED', 'startsAt', '366 days'`),
	},
	"event_type_channel_routing_time_of_send_at_path": {
		routeWith(`delivery_strategy, delay, send_before`, `'DELAYED', '1 hour', '1 hour'`),
		routeWith(`skip_if_past`, `true`),
	},
	"event_outbox_cancels_length":    inserts(`UPDATE event_outbox SET `, `cancels = ''`, `cancels = repeat('é', 76)`),
	"event_outbox_cancels_printable": {`UPDATE event_outbox SET cancels = E'evt\n2'`},
	"event_outbox_collapse_key": inserts(`UPDATE event_outbox SET `,
		`collapse_key = ''`, `collapse_key = repeat('é', 76)`, `collapse_key = E'order\n7'`),
	"event_outbox_actor": inserts(`UPDATE event_outbox SET `, `actor_type = 'ADMIN'`, `actor_id = '1'`, `actor_type = 'A/B', actor_id = '1'`,
		`actor_type = 'ADMIN', actor_id = ''`, `actor_type = 'ADMIN', actor_id = repeat('1', 101)`, `actor_type = 'ADMIN', actor_id = E'1\n'`),
	"event_outbox_exclude": inserts(`UPDATE event_outbox SET exclude = `, `'{ADMIN}'`, `'{admin/1}'`, `'{ADMIN/1,NULL}'`, `'{ADMIN/}'`,
		`'{ADMIN/1,1}'`, `array_fill('ADMIN/1'::text, '{101}')`, `array_fill(repeat('A', 20) || '/' || repeat('1', 100), '{100}')`),
	"notification_layout_name":                      {`INSERT INTO notification_layout (name, body) VALUES ('a b', 'x')`},
	"notification_layout_locale":                    {`INSERT INTO notification_layout (name, locale, body) VALUES ('a', '%', 'x')`},
	"notification_layout_size":                      inserts(`INSERT INTO notification_layout (name, body) VALUES `, `('a', '')`, `('a', repeat('x', 65537))`),
	"event_type_schema_object":                      {`INSERT INTO event_type_schema VALUES ('T', 'true')`},
	"event_type_schema_size":                        {`INSERT INTO event_type_schema VALUES ('T', jsonb_build_object('title', repeat('x', 65536)))`},
	"event_outbox_cancels_another":                  {`UPDATE event_outbox SET cancels = event_id`},
	"event_type_channel_routing_quiet_hours_action": {routeWith(`quiet_hours_action`, `'WAIT'`)},
	"entity_notification_settings_once": {
		`INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type) ` +
			`VALUES ('RESTAURANT', '5', 'SMS'), ('RESTAURANT', '5', 'SMS')`,
	},
	"entity_notification_settings_channel": {
		`INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type) VALUES ('RESTAURANT', '5', 'FAX')`,
	},
	"entity_notification_settings_max_recipients": {settingWith(`max_recipients`, `-1`)},
	"entity_notification_settings_quiet_hours": {
		settingWith(`quiet_hours_start`, `'22:00'`),
		settingWith(`quiet_hours_end`, `'07:00'`),
	},
	"entity_notification_settings_quiet_hours_differ": {settingWith(`quiet_hours_start, quiet_hours_end`, `'22:00', '22:00'`)},
	"user_notification_preferences_quiet_hours_differ": {
		preferenceWith(`quiet_hours_enabled, quiet_hours_start, quiet_hours_end`, `true, '22:00', '22:00'`),
	},
	"entity_notification_settings_quiet_hours_in_day": {settingWith(`quiet_hours_start, quiet_hours_end`, `'24:00', '07:00'`)},
	"event_type_channel_routing_push_kind": {
		`INSERT INTO event_type_channel_routing (event_type, channel_type, push_kind) VALUES ('T', 'PUSH', 'SILENT')`,
	},
	"user_notification_preferences_quiet_hours": {
		preferenceWith(`quiet_hours_enabled, quiet_hours_start`, `true, '22:00'`),
		preferenceWith(`quiet_hours_enabled, quiet_hours_end`, `true, '07:00'`),
	},
	"user_notification_preferences_quiet_hours_in_day": {
		preferenceWith(`quiet_hours_start`, `'24:00'`),
		preferenceWith(`quiet_hours_end`, `'24:00'`),
	},

	"channel_user_type_channel":     {`INSERT INTO channel_user_type (channel_type, user_type) VALUES ('FAX', 'GUEST')`},
	"channel_user_type_user_type":   {`INSERT INTO channel_user_type (channel_type, user_type) VALUES ('SMS', 'STAFF')`},
	"notification_template_channel": {`INSERT INTO notification_template (channel, title, body) VALUES ('FAX', '', '')`},
	"notification_template_size":    {`INSERT INTO notification_template (title, body) VALUES ('t', repeat('b', 65536))`},
	"notification_decision_channels": {
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('evt-1', 'CUSTOMER', '1', '[]')`,
	},
	"user_type_name": inserts(insertUserType,
		`('Patient', 'patient', 'patient')`, `('A-B', 'patient', 'patient')`, `('P' || repeat('X', 30), 'patient', 'patient')`),
	"user_type_who": inserts(insertUserType,
		`('PATIENT', '', 'patient')`, `('PATIENT', 'p1', 'patient')`, `('PATIENT', 'Patient', 'patient')`,
		`('PATIENT', 'patientperson', 'patient')`),
	"user_type_who_once": {insertUserType + `('PATIENT', 'guest', 'patient')`},
	"user_type_audience": inserts(insertUserType,
		`('PATIENT', 'patient', '')`, `('PATIENT', 'patient', 'a.b')`, `('PATIENT', 'patient', '#')`,
		`('PATIENT', 'patient', 'p' || repeat('x', 30))`),
	"user_type_audience_free": inserts(insertUserType,
		`('PATIENT', 'patient', 'all')`, `('PATIENT', 'patient', 'broadcast')`, `('PATIENT', 'patient', 'dead-letter')`,
		`('PATIENT', 'patient', 'websocket')`),
	"user_notification_preferences_user_type": {
		`INSERT INTO user_notification_preferences (user_type, user_id, channel_type) VALUES ('STAFF', '1', 'SMS')`,
	},
	"channel_name": {
		`INSERT INTO channel VALUES ('fax')`,
		`INSERT INTO channel VALUES ('FAX MACHINE')`,
		`INSERT INTO channel VALUES ('CARRIERPIGEON')`,
	},
	"notification_once": {insertDelivery + `status) VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'EMAIL', 'd2', '', '', 'PENDING')`},
	"notification_delivery_id_once": {
		insertDelivery + `status) VALUES ('evt-2', 'T', 'CUSTOMER', '1', 'EMAIL', 'd1', '', '', 'PENDING')`,
	},
	"notification_status":              {insertDelivery + `status` + deliveryValues + `'READ')`},
	"notification_strategy":            {insertDelivery + `strategy` + deliveryValues + `'LATER')`},
	"notification_operator_time":       {insertDelivery + `operator_time` + deliveryValues + `'SOON')`},
	"notification_priority":            {insertDelivery + `priority` + deliveryValues + `'URGENT')`},
	"notification_sent_has_time":       {insertDelivery + `status` + deliveryValues + `'SENT')`},
	"notification_delivered_has_time":  {insertDelivery + `status, sent_at` + deliveryValues + `'DELIVERED', now())`},
	"notification_failed_says_why":     {insertDelivery + `status` + deliveryValues + `'FAILED')`},
	"notification_text_or_reason":      inserts(`UPDATE notification SET `, `title = NULL`, `body = NULL`),
	"delivery_attempt_of_notification": {`INSERT INTO delivery_attempt (delivery_id, attempt) VALUES ('d404', 1)`},
	"notification_attempt_lease": inserts(`UPDATE notification SET `,
		`attempt_owner = 'o'`, `attempt_owner = 'o', attempt_until = now()`, `attempt_began = now()`),
	"delivery_attempt_outcome":            {`UPDATE delivery_attempt SET ended_at = now(), outcome = 'GONE'`},
	"delivery_attempt_ended_with_outcome": inserts(`UPDATE delivery_attempt SET `, `ended_at = now()`, `outcome = 'SENT'`),
	"delivery_retry_of_notification":      {insertRetry + `('d404', 'run-1', false, 'FAILED')`},
	"delivery_retry_status":               {insertRetry + `('d1', 'run-1', true, 'READ')`},
	"delivery_retry_of_sent_is_wanted":    inserts(insertRetry, `('d1', 'run-1', false, 'SENT')`, `('d1', 'run-1', false, 'DELIVERED')`),
	"delivery_receipt_provider":           {insertReceipt + `('Fax', 'r', 'd1', now(), 'delivered', NULL, NULL)`},
	"delivery_receipt_id_length": inserts(insertReceipt,
		`('twilio', '', 'd1', now(), 'delivered', NULL, NULL)`,
		`('twilio', repeat('r', 201), 'd1', now(), 'delivered', NULL, NULL)`),
	"delivery_receipt_status_length": inserts(insertReceipt,
		`('twilio', 'r', 'd1', now(), '', NULL, NULL)`, `('twilio', 'r', 'd1', now(), repeat('s', 41), NULL, NULL)`),
	"delivery_receipt_outcome":       {insertReceipt + `('twilio', 'r', 'd1', now(), 'sent', 'SENT', NULL)`},
	"delivery_receipt_detail_length": {insertReceipt + `('twilio', 'r', 'd1', now(), 'undelivered', 'FAILED', repeat('d', 1001))`},
	"recipient_suppression_channel":  {insertSuppression + `('FAX', sha256('a'), 'BOUNCE', NULL)`},
	"recipient_suppression_hash":     {insertSuppression + `('EMAIL', 'anna@example.com', 'BOUNCE', NULL)`},
	"recipient_suppression_secret_fkey": {
		`INSERT INTO recipient_suppression (channel, address_hash, reason, secret) VALUES ('EMAIL', sha256('a'), 'BOUNCE', 'unknown')`,
	},
	"recipient_suppression_reason":        {insertSuppression + `('EMAIL', sha256('a'), 'SOFT_BOUNCE', NULL)`},
	"recipient_suppression_detail_length": {insertSuppression + `('EMAIL', sha256('a'), 'BOUNCE', repeat('d', 1001))`},
	"event_type_escalation_from":          {insertEscalation + `('T', 'EMAIL', 'SLACK', '5 minutes', 'READ')`},
	"event_type_escalation_to":            {insertEscalation + `('T', 'SLACK', 'EMAIL', '5 minutes', 'READ')`},
	"event_type_escalation_after": inserts(insertEscalation,
		`('T', 'SLACK', 'WEBSOCKET', '0', 'READ')`, `('T', 'SLACK', 'WEBSOCKET', '31 days', 'READ')`),
	"event_type_escalation_until": {insertEscalation + `('T', 'WEBSOCKET', 'SLACK', '5 minutes', 'SENT')`},
	"event_type_escalation_known": {insertEscalation + `('T', 'SLACK', 'WEBSOCKET', '5 minutes', 'DELIVERED')`},
	"event_category_length": {
		`INSERT INTO event_category VALUES ('T', '')`,
		`INSERT INTO event_category VALUES ('T', repeat('c', 61))`,
	},
	"event_category_printable": {`INSERT INTO event_category VALUES ('T', E'two\nlines')`},
	"user_category_preferences_category_length": inserts(insertCategoryPreference,
		`('CUSTOMER', '1', '', 'SMS', false)`, `('CUSTOMER', '1', repeat('c', 61), 'SMS', false)`),
	"user_category_preferences_channel":   {insertCategoryPreference + `('CUSTOMER', '1', 'offers', 'FAX', false)`},
	"user_category_preferences_user_type": {insertCategoryPreference + `('STAFF', '1', 'offers', 'SMS', false)`},
	"entity_follow_user_type":             {insertFollow + `('STAFF', '1', 'ORDER', '7')`},
	"entity_follow_user_id": inserts(insertFollow,
		`('CUSTOMER', '', 'ORDER', '7')`, `('CUSTOMER', repeat('1', 65), 'ORDER', '7')`, `('CUSTOMER', E'two\nlines', 'ORDER', '7')`),
	"entity_follow_entity_type": inserts(insertFollow,
		`('CUSTOMER', '1', '', '7')`, `('CUSTOMER', '1', repeat('E', 61), '7')`, `('CUSTOMER', '1', 'CUSTOMER', '7')`,
		`('CUSTOMER', '1', 'ADMIN', '0')`, `('CUSTOMER', '1', 'BROADCAST', '0')`),
	"entity_follow_entity_id": inserts(insertFollow, `('CUSTOMER', '1', 'ORDER', '')`, `('CUSTOMER', '1', 'ORDER', repeat('7', 65))`),
	"entity_follow_level": {
		`INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id, level) VALUES ('CUSTOMER', '1', 'ORDER', '7', 'NONE')`,
	},
	"entity_mute_user_type": {insertMute + `('STAFF', '1', 'ORDER', '7')`},
	"entity_mute_user_id": inserts(insertMute,
		`('CUSTOMER', '', 'ORDER', '7')`, `('CUSTOMER', repeat('1', 65), 'ORDER', '7')`, `('CUSTOMER', E'two\nlines', 'ORDER', '7')`),
	"entity_mute_entity_type": inserts(insertMute,
		`('CUSTOMER', '1', '', '7')`, `('CUSTOMER', '1', repeat('E', 61), '7')`, `('CUSTOMER', '1', 'CUSTOMER', '7')`,
		`('CUSTOMER', '1', 'ADMIN', '0')`, `('CUSTOMER', '1', 'BROADCAST', '0')`),
	"entity_mute_entity_id": inserts(insertMute, `('CUSTOMER', '1', 'ORDER', '')`, `('CUSTOMER', '1', 'ORDER', repeat('7', 65))`),
	"entity_name_length": inserts(`INSERT INTO entity_name (entity_type, entity_id, name) VALUES `,
		`('ORDER', '7', '')`, `('ORDER', '7', repeat('n', 201))`, `('ORDER', '7', E'two\nlines')`),
	"source_row_refusals": {`INSERT INTO source_row (source, row_key, event_id, refusals) VALUES ('a', '1', '1', -1)`},
	"source_row_one_end": {
		`INSERT INTO source_row (source, row_key, event_id, error, sent_at, failed_at) VALUES ('a', '1', '1', 'e', now(), now())`,
	},
	"source_row_failed_says_why": {
		`INSERT INTO source_row (source, row_key, event_id, failed_at) VALUES ('a', '1', '1', now())`,
	},
	"user_settings_user_type":  {`INSERT INTO user_settings VALUES ('STAFF', '1', 'UTC')`},
	"event_type_approval_over": {`INSERT INTO event_type_approval VALUES ('T', -1)`},
	"event_approval_event":     {`INSERT INTO event_approval (event_id) VALUES ('nobody-knows-it')`},
	"event_approval_answer": {
		`INSERT INTO event_approval (event_id, answer, answered_by, answered_at) VALUES ('e', 'MAYBE', 'ada', now())`,
	},
	"event_approval_answered": {`INSERT INTO event_approval (event_id, answer) VALUES ('e', 'APPROVED')`},
	"user_settings_digest_at": {`INSERT INTO user_settings (user_type, user_id, digest_at) VALUES ('CUSTOMER', '1', '24:00')`},
}

func TestConstraints(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	postgrestest.Add(t, s.Pool,
		postgrestest.Recipient{UserID: "1"}, postgrestest.Delivery{UserID: "1"}, postgrestest.Attempt{},
		postgrestest.Route{Channel: notification.Slack}, postgrestest.Route{Channel: notification.WebSocket})

	names := postgrestest.List(t, s, `
		SELECT conname
		FROM   pg_constraint
		WHERE  connamespace = 'public'::regnamespace
		AND    contype IN ('c', 'u', 'f')
		AND    conname !~ '^herald_migrations'`)
	for _, name := range names {
		require.NotEmpty(t, refusals[name], "constraint %s has no case", name)
	}
	require.Len(t, refusals, len(names), "a case names a constraint that does not exist")

	for name, statements := range refusals {
		for _, sql := range statements {
			_, err := s.Pool.Exec(t.Context(), sql)
			var refused *pgconn.PgError
			require.ErrorAs(t, err, &refused, "%s accepted: %s", name, sql)
			require.Equal(t, name, refused.ConstraintName, sql)
		}
	}
}

// Values just inside the limits are accepted.
func TestConstraintsAcceptLimits(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	const payload = 262144 - len(`{"text": ""}`)
	long := strings.Repeat("x", 100)
	postgrestest.Add(t, s.Pool,
		postgrestest.Event{
			ID: strings.Repeat("x", 150), Type: long, AggregateType: long, AggregateID: long, CorrelationID: strings.Repeat("x", 255),
			Cancels: strings.Repeat("y", 150), Payload: `{"text": "` + strings.Repeat("x", payload) + `"}`,
		},
		postgrestest.Event{
			ID: "of-orders", Source: "orders", Type: strings.Repeat("x", 255),
			AggregateType: strings.Repeat("x", 255), AggregateID: strings.Repeat("x", 255),
		},
		postgrestest.Recipient{UserID: strings.Repeat("1", 64), Timezone: "America/Argentina/Buenos_Aires"},
		postgrestest.Recipient{UserID: "2", Timezone: "of a newer database than the server's"},
		postgrestest.Target{}, postgrestest.Target{EntityType: "BROADCAST"},
		postgrestest.Target{EntityType: "RESTAURANT", EntityIDPath: "restaurantId"},
		postgrestest.Route{Channel: notification.SMS, Strategy: notification.Delayed, Delay: 30 * 24 * time.Hour},
		postgrestest.Route{
			Channel: notification.Push, Strategy: notification.Delayed, SendAtPath: "startsAt", SendBefore: "365 days", SkipIfPast: true,
		},
		postgrestest.Template{Title: "t", Body: strings.Repeat("b", 65535)},
		postgrestest.Preference{Channel: notification.SMS, QuietStart: "00:00", QuietEnd: "23:59:59"})
	postgrestest.AddMany(t, s.Pool, 1, postgrestest.Event{ID: "of-orders-without", Source: "orders"},
		postgrestest.Expressions{"aggregate_type": "NULL", "aggregate_id": "NULL", "payload": "NULL"})
}

// The database has the same channels as the code, and each serves users.
func TestChannelsOfTheDatabase(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.ElementsMatch(t, notification.Channels(), postgrestest.Get[[]notification.Channel](t, s,
		"SELECT array_agg(channel_type) FROM channel"))
	require.ElementsMatch(t, []string{
		"ADMIN EMAIL SLACK WEBHOOK WEBSOCKET",
		"AGENCY_USER EMAIL PUSH SMS WEBHOOK WEBSOCKET",
		"CUSTOMER EMAIL PUSH SMS WEBHOOK WEBSOCKET",
		"GUEST WEBSOCKET",
		"RESTAURANT_USER EMAIL PUSH SLACK SMS WEBHOOK WEBSOCKET",
	}, postgrestest.List(t, s,
		"SELECT user_type || ' ' || string_agg(channel_type, ' ' ORDER BY channel_type) FROM channel_user_type GROUP BY user_type"))
}
