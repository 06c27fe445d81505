package check

import (
	"context"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
)

const (
	recipientRules = "event_type_recipients"
	routingRules   = "event_type_channel_routing"
	schemaRules    = "event_type_schema"
)

// ruleFindings are mistakes in the rules. The first ones show in the last events, as planning reads
// them; the others in the rules themselves, and in the directory.
var ruleFindings = []finding[*survey]{
	{place: routingRules, row: "$type", find: each((*survey).types, unrouted),
		problem: "no row routes events of this type, such as $event: they tell nobody",
		remedy:  "insert a row for each channel of the type"},
	{place: recipientRules, row: "$type", find: each((*survey).types, nameless),
		problem: "event $event tells nobody: $why",
		remedy:  "insert a row that names the recipients of this event type, and the path of their id in the payload"},
	{place: recipientRules, row: "$row", find: each((*survey).types, vainPaths),
		problem: "it finds nobody in the last $count events of its type, such as $event: $why",
		remedy: "correct entity_id_path to the path of the id in the payload; restaurantId and restaurant_id are different keys, " +
			"and @aggregate is the event's aggregate_id"},
	{place: routingRules, row: "$route", find: each((*survey).types, lacking(throttleKey)),
		problem: "event $event has no value at throttle_key_path $path: such events share one throttle window",
		remedy:  "correct throttle_key_path to the path of the key in the payload, or correct the producer"},
	{place: routingRules, row: "$route", find: each((*survey).types, lacking(sendTime)),
		problem: "event $event has no known time: $why",
		remedy:  "correct send_at_path to the path of the time in the payload, or correct the producer"},
	{place: schemaRules, row: "$type", find: each((*survey).schemas, uncompiled),
		problem: "$why",
		remedy:  "correct the schema: POST /api/events refuses every event of the type"},
	{place: schemaRules, row: "$type", find: (*survey).refusedPayloads,
		problem: "it refuses $events of the last $all events of its type, such as $event: $why",
		remedy:  "correct the producer, or the schema"},
	{place: "$table", row: "$row", find: (*survey).impossiblePaths,
		problem: "$flaw",
		remedy:  "correct $column to where the payload has it"},
	{place: recipientRules, row: "$row",
		problem: "it tells nobody: $entity means people of that type, but the row wants $type",
		remedy:  "correct user_type, or name your own entity type and write its members into entity_member",
		find: query(`
			SELECT ` + ruleKey + ` AS row, e.entity_type AS entity, e.user_type AS type
			FROM   event_type_recipients e
			WHERE  e.entity_type IN ('CUSTOMER', 'ADMIN')
			AND    e.user_type <> e.entity_type
			ORDER BY e.id`)},
	{place: recipientRules, row: "$row",
		problem: "it tells nobody: no active member of any $entity $who",
		remedy:  "write the members into entity_member, or correct the row",
		find: query(`
			SELECT ` + ruleKey + ` AS row, e.entity_type AS entity,
			       coalesce(nullif(concat_ws(' and ', 'is of type ' || e.user_type, 'has one of the roles ' || array_to_string(e.roles, ', ')), ''),
			                'is in entity_member') AS who
			FROM   event_type_recipients e
			WHERE  e.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
			AND    ('` + notification.Follower + `' = ANY (e.roles)) IS NOT TRUE -- anybody may begin to follow
			AND    NOT EXISTS (
			           SELECT FROM entity_member m
			           WHERE  m.entity_type::text = e.entity_type
			           AND    m.active::boolean
			           AND    (e.user_type IS NULL OR m.user_type::text = e.user_type)
			           AND    (e.roles IS NULL OR m.role::text = ANY (e.roles)))
			ORDER BY e.id`)},
	{place: recipientRules, row: "$row",
		problem: "none of the channels that $event is routed over serves $type: every delivery is UNSUPPORTED",
		remedy:  "insert a row into channel_user_type for $type and one of these channels, or route the type over one that serves them",
		find: query(`
			SELECT ` + ruleKey + ` AS row, e.event_type AS event, e.user_type AS type
			FROM   event_type_recipients e
			WHERE  e.user_type IS NOT NULL
			AND    EXISTS (SELECT FROM event_type_channel_routing c WHERE c.event_type = e.event_type)
			AND    NOT EXISTS (
			           SELECT FROM event_type_channel_routing c
			           JOIN   channel_user_type s ON s.channel_type = c.channel_type
			           WHERE  c.event_type = e.event_type
			           AND    s.user_type = e.user_type)
			ORDER BY e.id`)},
	{place: routingRules, row: "$row",
		problem: "roles is empty, so nobody gets the channel",
		remedy:  "correct roles; NULL allows every role",
		find: query(`
			SELECT event_type || '/' || channel_type AS row
			FROM   event_type_channel_routing
			WHERE  roles = '{}'
			ORDER BY event_type, channel_type`)},
	{place: routingRules, row: "$row",
		problem: "no active member of any entity has the role $vacant",
		remedy:  "correct roles; NULL allows every role",
		find: query(`
			SELECT e.event_type || '/' || e.channel_type AS row, string_agg(a.role, ', ' ORDER BY a.n) AS vacant
			FROM   event_type_channel_routing e
			CROSS JOIN LATERAL unnest(e.roles) WITH ORDINALITY AS a (role, n)
			WHERE  a.role <> '` + notification.Follower + `'
			AND    NOT EXISTS (SELECT FROM entity_member m WHERE m.active::boolean AND m.role::text = a.role)
			GROUP BY e.event_type, e.channel_type
			ORDER BY e.event_type, e.channel_type`)},
	{place: routingRules, row: "$route", find: each((*survey).routes, expired),
		problem: "its deliveries wait $wait and expire after $expires: none is ever sent",
		remedy:  "set expires_after to more than delay or digest_window"},
	{place: routingRules, row: "$route", find: each((*survey).routes, silenced),
		problem: "it is mandatory and expires after $expires, but quiet hours drop it",
		remedy:  "set quiet_hours_action to IGNORE, if people need it at any hour, such as a code; else make it optional"},
	{place: "frequency_cap", row: "$row",
		problem: "no event type has the category, so it limits nothing",
		remedy:  "correct category, or insert rows into event_category",
		find: query(`
			SELECT channel_type || '/' || category AS row
			FROM   frequency_cap f
			WHERE  category IS NOT NULL
			AND    NOT EXISTS (SELECT FROM event_category c WHERE c.category = f.category)
			ORDER BY channel_type, category`)},
	{place: "frequency_cap", row: "$row",
		problem: "spacing allows fewer messages during per than at_most, so at_most is never reached",
		remedy:  "shorten spacing, or leave out at_most and per",
		find: query(`
			SELECT channel_type || '/' || coalesce(category, 'every category') AS row
			FROM   frequency_cap
			WHERE  at_most * spacing > per
			ORDER BY channel_type, category`)},
	{place: "event_type_approval", row: "$row",
		problem: "no channel is routed for the event type, so none of its events waits for approval",
		remedy:  "correct event_type, or insert rows into event_type_channel_routing",
		find: query(`
			SELECT a.event_type AS row
			FROM   event_type_approval a
			WHERE  NOT EXISTS (SELECT FROM event_type_channel_routing e WHERE e.event_type = a.event_type)
			ORDER BY a.event_type`)},
	{place: "entity_notification_settings", row: "$row",
		problem: "it allows only the roles $roles, which no active member of the entity has: nobody gets the channel",
		remedy:  "correct allowed_roles; NULL allows every role; to switch the channel off, set enabled to false",
		find: query(`
			SELECT concat_ws('/', s.entity_type, s.entity_id, s.channel_type, coalesce(s.event_type, 'every event type')) AS row,
			       array_to_string(s.allowed_roles, ', ') AS roles
			FROM   entity_notification_settings s
			WHERE  s.enabled
			AND    cardinality(s.allowed_roles) > 0
			AND    '` + notification.Follower + `' <> ALL (s.allowed_roles)
			AND    NOT EXISTS (
			           SELECT FROM entity_member m
			           WHERE  m.entity_type::text = s.entity_type
			           AND    m.entity_id::text = s.entity_id
			           AND    m.active::boolean
			           AND    m.role::text = ANY (s.allowed_roles))
			ORDER BY s.entity_type, s.entity_id, s.channel_type, s.event_type`)},
	{place: "event_category", row: "*",
		problem: "* is no event type, so this row matches nothing",
		remedy:  "insert a row for each event type of the category",
		find:    query(`SELECT event_type FROM event_category WHERE event_type = '*'`)},
	// these messages come again; a category whose event type has no events yet is no mistake
	{place: "user_category_preferences", row: "category $unsafe_category",
		problem: "$have this category, which no event type has, so these recipients get messages that they had switched off",
		remedy:  "if it has another name now, UPDATE user_category_preferences SET category; if it is gone, delete these rows",
		find: query(`
			SELECT p.category AS unsafe_category, count(*) AS count
			FROM  (SELECT category FROM user_category_preferences LIMIT @part) p
			WHERE  NOT EXISTS (SELECT FROM event_category c WHERE c.category = p.category)
			GROUP BY p.category
			ORDER BY count DESC, p.category`)},
	{place: "event_type_escalation", row: "$row",
		problem: "$channel is AGGREGATE, but a digest cannot escalate and cannot follow another channel",
		remedy:  "give $event/$channel another delivery_strategy in event_type_channel_routing, or delete the row",
		find: query(`
			SELECT e.event_type || '/' || e.from_channel AS row, e.event_type AS event, r.channel_type AS channel
			FROM   event_type_escalation e
			JOIN   event_type_channel_routing r ON r.event_type = e.event_type AND r.channel_type IN (e.from_channel, e.to_channel)
			WHERE  r.delivery_strategy = 'AGGREGATE'
			ORDER BY e.event_type, e.from_channel, r.channel_type = e.to_channel`)},
	{place: "event_type_escalation", row: "$row",
		problem: "it waits until the recipient reads it in the inbox, but $event is not routed over WEBSOCKET, so $follower always follows",
		remedy:  "route it over WEBSOCKET too, or wait until DELIVERED, which EMAIL and SMS report",
		find: query(`
			SELECT e.event_type || '/' || e.from_channel AS row, e.event_type AS event, e.to_channel AS follower
			FROM   event_type_escalation e
			WHERE  e.until = 'READ'
			AND    NOT EXISTS (SELECT FROM event_type_channel_routing r WHERE r.event_type = e.event_type AND r.channel_type = 'WEBSOCKET')
			ORDER BY e.event_type, e.from_channel`)},
	{place: routingRules, row: "$row",
		problem: "it is on_escalation_only, and nothing escalates to it: it is never used",
		remedy:  "insert a row into event_type_escalation, or set on_escalation_only to false",
		find: query(`
			SELECT r.event_type || '/' || r.channel_type AS row
			FROM   event_type_channel_routing r
			WHERE  r.on_escalation_only
			AND    NOT EXISTS (SELECT FROM event_type_escalation e WHERE e.event_type = r.event_type AND e.to_channel = r.channel_type)
			ORDER BY r.event_type, r.channel_type`)},
}

// ruleKey is the key of a row e of event_type_recipients: ORDER_PAID/CUSTOMER/CUSTOMER/customer.id.
const ruleKey = "concat_ws('/', e.event_type, coalesce(e.user_type, 'any'), e.entity_type, coalesce(e.entity_id_path, 'no path'))"

// impossiblePaths finds paths that no payload can have, even before an event comes.
func (s *survey) impossiblePaths(ctx context.Context) ([]args, error) {
	found, err := query(`
		SELECT 'event_type_recipients' AS table, 'entity_id_path' AS column, entity_id_path AS path, `+ruleKey+` AS row
		FROM   event_type_recipients e
		WHERE  entity_id_path IS NOT NULL
		UNION ALL
		SELECT 'event_type_channel_routing', 'send_at_path', send_at_path, event_type || '/' || channel_type
		FROM   event_type_channel_routing
		WHERE  send_at_path IS NOT NULL
		UNION ALL
		SELECT 'event_type_channel_routing', 'throttle_key_path', throttle_key_path, event_type || '/' || channel_type
		FROM   event_type_channel_routing
		WHERE  throttle_key_path IS NOT NULL
		ORDER BY 1 DESC, 4`)(s, ctx)
	for _, a := range found {
		a["flaw"] = notification.PathFlaw(a["path"])
	}
	return slices.DeleteFunc(found, func(a args) bool { return a["flaw"] == "" }), err
}

// expired finds a route whose deliveries expire before they are due.
func expired(r report.Route) []args {
	if r.ExpiresAfter == 0 || r.ExpiresAfter > r.Wait {
		return nil
	}
	return []args{{"route": routeKey(r.EventType, r.Channel), "wait": r.Wait.String(), "expires": r.ExpiresAfter.String()}}
}

// shortLived is the longest expires_after of messages that are worth nothing after quiet hours: codes
// and alarms.
const shortLived = 2 * time.Hour

// silenced finds a mandatory route whose short-lived messages quiet hours drop.
func silenced(r report.Route) []args {
	drops := r.Mandatory && r.Channel.Quieted() && r.QuietHoursAction == notification.Drop
	if !drops || r.ExpiresAfter == 0 || r.ExpiresAfter > shortLived {
		return nil
	}
	return []args{{"route": routeKey(r.EventType, r.Channel), "expires": r.ExpiresAfter.String()}}
}

// routeKey is the key of a row of event_type_channel_routing.
func routeKey(eventType string, channel notification.Channel) string {
	return eventType + "/" + string(channel)
}
