package rules

import (
	"slices"

	"herald/internal/notification"
)

// table describes a table of rules.
type table struct {
	name    string
	key     []string // the columns that identify a row
	columns []column // all columns that a file may set, the key included
	// shared: applications write rows of this table, too. A folder owns the rows that an apply wrote,
	// and the rows of entity_id 0, which hold for every group or person of the kind.
	shared bool
	// replaced: a changed row is deleted and inserted again, because the database compares each row
	// with the other ones while they change.
	replaced bool
	// shipped is a condition for rows that came with Herald, which count as absent.
	shipped string
}

// column describes a column.
type column struct {
	name     string
	kind     kind
	oneOf    []string // the permitted values; nil: any
	standard any      // the value of a row that lacks the column, as Postgres writes it in JSON
	required bool     // a row must have a value
	file     bool     // the value may be in a file next to the rules
}

// kind is the type of a column's values.
type kind int

const (
	text kind = iota
	boolean
	integer
	interval // such as 5 minutes
	clock    // such as 08:30
	list     // of texts
	object   // JSON
)

func (t *table) column(name string) (column, bool) {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return column{}, false
	}
	return t.columns[i], true
}

func channels() []string {
	var names []string
	for _, c := range notification.Channels() {
		names = append(names, string(c))
	}
	return names
}

// Columns that several tables have.
var (
	eventType  = column{name: "event_type", required: true}
	channel    = column{name: "channel_type", oneOf: channels(), required: true}
	priorities = []string{"HIGH", "NORMAL", "LOW"}
)

// The tables in the order in which their rows are inserted: a row refers only to rows of earlier tables.
var (
	userTypes = &table{name: "user_type", key: []string{"user_type"}, columns: []column{
		{name: "user_type", required: true},
		{name: "who", required: true},
		{name: "audience", required: true},
	}}
	channelUserTypes = &table{name: "channel_user_type", key: []string{"channel_type", "user_type"}, columns: []column{
		channel,
		{name: "user_type", required: true},
	}}
	caps = &table{name: "frequency_cap", key: []string{"channel_type", "category"}, columns: []column{
		channel,
		{name: "category"},
		{name: "at_most", kind: integer},
		{name: "per", kind: interval},
		{name: "spacing", kind: interval},
		{name: "action", oneOf: []string{"DROP", "DEFER"}, standard: "DROP"},
	}}
	recipients = &table{
		name: "event_type_recipients",
		key:  []string{"event_type", "user_type", "entity_type", "entity_id_path"},
		columns: []column{
			eventType,
			{name: "user_type"},
			{name: "entity_type", required: true},
			{name: "entity_id_path"},
			{name: "roles", kind: list},
		},
	}
	routing = &table{name: "event_type_channel_routing", key: []string{"event_type", "channel_type"}, columns: []column{
		eventType,
		channel,
		{name: "mandatory", kind: boolean, standard: false},
		{name: "delivery_strategy", oneOf: []string{"IMMEDIATE", "DELAYED", "AGGREGATE"}, standard: "IMMEDIATE"},
		{name: "delay", kind: interval, standard: "00:00:00"},
		{name: "digest_window", kind: interval, standard: "00:05:00"},
		{name: "digest_first", kind: boolean, standard: false},
		{name: "digest_at", kind: clock},
		{name: "digest_days"},
		{name: "quiet_hours_action", oneOf: []string{"DROP", "DEFER", "IGNORE"}, standard: "DROP"},
		{name: "priority", oneOf: priorities},
		{name: "push_kind", oneOf: []string{"NOTIFICATION", "DATA"}, standard: "NOTIFICATION"},
		{name: "send_at_path"},
		{name: "send_before", kind: interval, standard: "00:00:00"},
		{name: "skip_if_past", kind: boolean, standard: false},
		{name: "on_escalation_only", kind: boolean, standard: false},
		{name: "roles", kind: list},
		{name: "expires_after", kind: interval},
		{name: "throttle_window", kind: interval},
		{name: "throttle_key_path"},
		{name: "once_per_address", kind: boolean},
		{name: "tell_actor", kind: boolean, standard: false},
	}}
	escalations = &table{name: "event_type_escalation", key: []string{"event_type", "from_channel"}, replaced: true, columns: []column{
		eventType,
		{name: "from_channel", oneOf: channels(), required: true},
		{name: "to_channel", oneOf: channels(), required: true},
		{name: "after", kind: interval, required: true},
		{name: "until", oneOf: []string{"DELIVERED", "READ"}, required: true},
		{name: "if_unreachable", kind: boolean, standard: true},
	}}
	categories = &table{name: "event_category", key: []string{"event_type"}, columns: []column{
		eventType,
		{name: "category", required: true},
	}}
	approvals = &table{name: "event_type_approval", key: []string{"event_type"}, columns: []column{
		eventType,
		{name: "over", kind: integer, required: true},
	}}
	schemas = &table{name: "event_type_schema", key: []string{"event_type"}, columns: []column{
		eventType,
		{name: "payload_schema", kind: object, required: true},
	}}
	groupSettings = &table{
		name:   "entity_notification_settings",
		key:    []string{"entity_type", "entity_id", "channel_type", "event_type"},
		shared: true,
		columns: []column{
			{name: "entity_type", required: true},
			{name: "entity_id", required: true},
			channel,
			{name: "event_type"},
			{name: "enabled", kind: boolean, standard: true},
			{name: "max_recipients", kind: integer},
			{name: "allowed_roles", kind: list},
			{name: "quiet_hours_start", kind: clock},
			{name: "quiet_hours_end", kind: clock},
			{name: "quiet_hours_timezone"},
		},
	}
	templates = &table{
		name: "notification_template", key: []string{"event_type", "channel", "locale"}, shipped: "shipped",
		columns: []column{
			eventType,
			{name: "channel", oneOf: append(channels(), "*"), required: true},
			{name: "locale", required: true},
			{name: "title", required: true},
			{name: "body", required: true, file: true},
			{name: "url"},
			{name: "layout"},
		},
	}
	layouts = &table{name: "notification_layout", key: []string{"name", "locale"}, columns: []column{
		{name: "name", required: true},
		{name: "locale", required: true},
		{name: "body", required: true, file: true},
	}}
)

var tables = []*table{
	userTypes, channelUserTypes, caps, recipients, routing, escalations, categories, approvals, schemas, groupSettings, layouts, templates,
}
