package rules

// section describes a key of a file, below which there are rows of a table.
type section struct {
	key   string
	table *table
	about string // for the JSON Schema
	// nest lists the columns whose values are the keys of nested mappings, the outermost first.
	nest []string
	leaf leaf
	// suffix is appended to the event type of a file.
	suffix string
}

// leaf is the form of the values below the nested mappings.
type leaf int

const (
	row    leaf = iota // a mapping of columns to values
	rows               // a list of such mappings
	scalar             // the value of the last column
	set                // a list of values of the last column, each a row
)

// eventSections are the keys in the file of an event type. The file's name gives the column event_type.
var eventSections = []section{
	{key: "recipients", table: recipients, leaf: rows,
		about: "Who is told. Without it the event's aggregate decides."},
	{key: "channels", table: routing, nest: []string{"channel_type"},
		about: "The channels, each with how it is used."},
	{key: "escalation", table: escalations, nest: []string{"from_channel"},
		about: "What follows a delivery over a channel that does not arrive."},
	{key: "category", table: categories, leaf: scalar,
		about: "The category that recipients can switch off, and that caps name."},
	{key: "approval", table: approvals, about: "How many people an event may tell without approval."},
	{key: "payload_schema", table: schemas, leaf: scalar, about: "The JSON Schema of the payloads."},
	{key: "group_settings", table: groupSettings, leaf: rows, about: "What groups set for this event type."},
	{key: "texts", table: templates, nest: textKeys, about: "The texts by channel and locale."},
	{key: "digest_texts", table: templates, nest: textKeys, suffix: ".digest",
		about: "The texts of digests of this event type alone."},
	{key: "escalated_texts", table: templates, nest: textKeys, suffix: ".escalated",
		about: "The texts of deliveries that follow another one."},
}

// installationSections are the keys in installation.yaml.
var installationSections = []section{
	{key: "user_types", table: userTypes, nest: []string{"user_type"}, about: "The types of recipients."},
	{key: "channels", table: channelUserTypes, nest: []string{"channel_type"}, leaf: set,
		about: "The user types that each channel may serve."},
	{key: "caps", table: caps, leaf: rows, about: "Limits on the messages to one recipient."},
	{key: "group_settings", table: groupSettings, leaf: rows,
		about: "What groups set for all event types. entity_id 0 holds for all customers, admins or broadcasts."},
	{key: "layouts", table: layouts, nest: []string{"name", "locale"}, about: "What stands around the texts that name it."},
	{key: "texts", table: templates, nest: []string{"event_type", "channel", "locale"},
		about: "The texts of all event types (*) and of digests (digest)."},
}

var textKeys = []string{"channel", "locale"}

// testsKey is the one key that holds no rows.
const testsKey = "tests"

// installationFile is the name of the file for the installation.
const installationFile = "installation.yaml"

// rowColumns returns the columns that a row of the section may have, without the keys around it.
func (s section) rowColumns(ofEventType bool) []column {
	var found []column
	for _, c := range s.table.columns {
		if s.gives(c.name, ofEventType) {
			continue
		}
		found = append(found, c)
	}
	return found
}

// words returns the permitted keys of a nested mapping; nil: any. The file of an event type has its texts.
func (s section) words(column string) []string {
	if column == "event_type" {
		return []string{"*", "digest"}
	}
	c, _ := s.table.column(column)
	return c.oneOf
}

// gives reports whether the place of a row gives a column.
func (s section) gives(column string, ofEventType bool) bool {
	for _, key := range s.nest {
		if key == column {
			return true
		}
	}
	return column == "event_type" && (ofEventType || s.table == groupSettings)
}
