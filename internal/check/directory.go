package check

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"herald/internal/address"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/report"
)

// directoryTables are the tables of people that may be views. entity_name may be a view too.
var directoryTables = []string{"recipient", "recipient_device", "entity_member"}

// directory checks recipient, recipient_device, entity_member and entity_name. A view must have the columns
// that planning reads, with types that can be cast, and rows that planning can use.
func (s *survey) directory(ctx context.Context) (mistakes []Mistake, err error) {
	table := directoryFindings
	views := false
	for _, name := range append(slices.Clone(directoryTables), "entity_name") {
		relation, err := s.reader().Relation(ctx, name)
		if err != nil {
			return mistakes, err
		}
		found, err := evaluate(ctx, relationFacts{s, name, relation}, relationFindings)
		mistakes = append(mistakes, found...)
		if err != nil {
			return mistakes, err
		}
		views = views || relation.View
	}
	if len(mistakes) > 0 {
		return mistakes, nil // without these columns, the rows cannot be read
	}
	if views { // tables have constraints that prevent these mistakes
		for _, name := range directoryTables {
			flaws := sync.OnceValues(func() (report.IDFlaws, error) { return s.reader().IDFlaws(ctx, name) })
			table = append(table, idFindings(name, flaws)...)
		}
		table = append(table, viewFindings...)
	}
	return evaluate(ctx, s, table)
}

var directoryFindings = []finding[*survey]{
	{place: "recipient", row: "active",
		problem: "none of the first $count people is active, so Herald tells nobody anything",
		remedy: "set active to true for people who may be told; in a view, write coalesce(active, true) or true AS active, " +
			"since NULL means not active",
		find: query(`
			SELECT count(*) AS count
			FROM  (SELECT active::boolean FROM recipient LIMIT @part) AS looked_at
			HAVING count(*) > 0
			AND    count(*) FILTER (WHERE active) = 0`)},
	{place: "$table", row: "$column $value", find: (*survey).unknownUserTypes,
		problem: "$have this type, which is not in user_type, so Herald tells them nothing",
		remedy:  "correct it, or insert it into user_type and channel_user_type"},
	{place: "$table", row: "$column $value", find: (*survey).unknownTimezones,
		problem: "$have this time zone, which the worker does not know, so their quiet hours are in UTC",
		remedy:  "use the name of the IANA database, in its spelling: Europe/Rome"},
	{place: "recipient", row: "$column", find: (*survey).addresses,
		problem: "$have $address, so each $channel to them fails: $people",
		remedy: "correct it, or empty it; write a number as +41791234567: " +
			"Herald drops spaces around an address and separators in a number, but guesses nothing"},
	{place: "recipient", row: "$column", find: (*survey).webhooks,
		problem: "$have a webhook to which nothing is sent: $why: $people",
		remedy:  "correct the webhooks, or add their host to ${channel}_ALLOWED_HOSTS where the worker runs, and here"},
}

// idFindings are about the ids in a table, of which flaws reads the counts.
func idFindings(table string, flaws func() (report.IDFlaws, error)) []finding[*survey] {
	counted := func(count func(report.IDFlaws) int) find[*survey] {
		return func(*survey, context.Context) ([]args, error) {
			found, err := flaws()
			if err != nil || count(found) == 0 {
				return nil, err
			}
			return []args{{"have": have(count(found))}}, nil
		}
	}
	return []finding[*survey]{
		{place: table, row: "user_type", find: counted(func(f report.IDFlaws) int { return f.NoType }),
			problem: "$have no user_type, so Herald tells them nothing",
			remedy:  "give each row a user_type in the view, or leave such rows out"},
		{place: table, row: "user_id", find: counted(func(f report.IDFlaws) int { return f.NoID }),
			problem: "$have no user_id, so Herald tells them nothing",
			remedy:  "give each row a user_id in the view, or leave such rows out"},
		{place: table, row: "user_id", find: counted(func(f report.IDFlaws) int { return f.LongID }),
			problem: "$have a user_id of more than 64 bytes, so Herald tells them nothing",
			remedy:  "use a shorter key in the view: a number, or a uuid"},
		{place: table, row: "user_id", find: counted(func(f report.IDFlaws) int { return f.UnshownID }),
			problem: "$have control characters in their user_id",
			remedy:  "use another key in the view: a number, or a uuid"},
		{place: table, row: "user_type, user_id", find: counted(func(f report.IDFlaws) int { return f.Twice }),
			problem: "$have the same user as another row, and Herald may use either row",
			remedy:  "let the view have one row for each user"},
	}
}

var viewFindings = []finding[*survey]{
	// planning skips them, unless recipient is empty
	{place: "entity_member", row: "$unsafe_entity/$unsafe_type",
		problem: "$have a user who is not in recipient, so Herald tells them nothing",
		remedy:  "use the same user_type and user_id in both tables, and add every member to recipient",
		find: query(`
			SELECT m.entity_type AS unsafe_entity, m.user_type AS unsafe_type, count(*) AS count
			FROM  (SELECT coalesce(entity_type::text, '') AS entity_type, user_type::text, user_id::text, active::boolean
			       FROM   entity_member
			       LIMIT  @part) m
			JOIN   user_type t ON t.user_type = m.user_type
			WHERE  m.active
			AND    m.user_id <> ''
			AND    EXISTS (SELECT FROM recipient)
			AND    NOT EXISTS (SELECT FROM recipient r WHERE r.user_type::text = m.user_type AND r.user_id::text = m.user_id)
			GROUP BY m.entity_type, m.user_type
			ORDER BY count DESC, m.entity_type, m.user_type`)},
	{place: "recipient, recipient_device, entity_member", find: (*survey).planned,
		problem: "planning cannot read them: $why",
		remedy:  "correct the views; docs/directory.md describes each column"},
}

// column is a column of a table.
type column struct{ table, name string }

// unknown finds the values of columns that are not known.
func (s *survey) unknown(ctx context.Context, columns []column, isKnown func(string) bool) (found []args, err error) {
	for _, c := range columns {
		values, err := s.reader().Values(ctx, c.table, c.name)
		if err != nil {
			return found, err
		}
		for _, value := range values {
			if !isKnown(value.Value) {
				found = append(found, args{"table": c.table, "column": c.name, "value": shown(value.Value), "have": have(value.Count)})
			}
		}
	}
	return found, nil
}

func (s *survey) unknownUserTypes(ctx context.Context) ([]args, error) {
	known, err := person.On(s.db).UserTypes(ctx)
	if err != nil {
		return nil, err
	}
	var columns []column
	for _, table := range append([]string{"event_type_recipients", "channel_user_type", "user_notification_preferences"}, directoryTables...) {
		columns = append(columns, column{table, "user_type"})
	}
	return s.unknown(ctx, columns, func(value string) bool {
		return slices.ContainsFunc(known, func(row notification.UserTypeRow) bool { return string(row.UserType) == value })
	})
}

func (s *survey) unknownTimezones(ctx context.Context) ([]args, error) {
	columns := []column{{"recipient", "timezone"}, {"entity_notification_settings", "quiet_hours_timezone"}, {"user_settings", "timezone"}}
	return s.unknown(ctx, columns, func(value string) bool { _, known := notification.KnownZone(value); return known })
}

// namedPeople is the number of people that a mistake about addresses names.
const namedPeople = 3

// people counts the people with one mistake.
type people struct {
	count int
	first []string
}

// peopleBy holds the people with each mistake.
type peopleBy map[string]*people

func (by peopleBy) add(mistake string, count int, names ...string) {
	if by[mistake] == nil {
		by[mistake] = &people{}
	}
	p := by[mistake]
	p.count += count
	for _, name := range names[:min(len(names), namedPeople-len(p.first))] {
		p.first = append(p.first, shown(name))
	}
}

// args returns the arguments for each mistake, whose text gets a name.
func (by peopleBy) args(column string, of notification.Channel, name string) (found []args) {
	for _, mistake := range slices.Sorted(maps.Keys(by)) {
		found = append(found, args{
			"column": column, "channel": string(of), name: mistake,
			"have": have(by[mistake].count), "people": strings.Join(by[mistake].first, ", "),
		})
	}
	return found
}

// addresses finds people whose mail address or phone number cannot work. It names some of the people,
// and never an address.
func (s *survey) addresses(ctx context.Context) (found []args, err error) {
	relation, err := s.reader().Relation(ctx, "recipient")
	if err != nil {
		return nil, err
	}
	for _, channel := range []notification.Channel{notification.Email, notification.SMS} {
		column, flawed := channel.AddressColumn(), peopleBy{}
		if relation.Columns[column] == "" {
			continue
		}
		err := s.reader().Addresses(ctx, column, func(of report.PersonAddress) {
			if _, flaw := address.Normal(channel, of.Address); flaw != "" && flaw != address.Empty {
				flawed.add(channel.AddressWord()+" "+string(flaw), 1, of.Person)
			}
		})
		if err != nil {
			return found, err
		}
		found = append(found, flawed.args(column, channel, "address")...)
	}
	return found, nil
}

// webhooks finds addresses that a channel's sender refuses. It reads only their scheme and host.
func (s *survey) webhooks(ctx context.Context) (found []args, err error) {
	relation, err := s.reader().Relation(ctx, "recipient")
	if err != nil {
		return nil, err
	}
	for _, channel := range notification.Channels() {
		column, flaw, flawed := channel.AddressColumn(), s.senders.flawOf(channel), peopleBy{}
		if relation.Columns[column] == "" || flaw == nil {
			continue
		}
		bases, err := s.reader().URLBases(ctx, column)
		if err != nil {
			return found, err
		}
		for _, base := range bases {
			if problem := flaw(base.Base); problem != "" {
				flawed.add(problem, base.Count, base.People...)
			}
		}
		found = append(found, flawed.args(column, channel, "why")...)
	}
	return found, nil
}

// planned reads a recipient and a member as planning does. This finds mistakes that the other
// findings miss.
func (s *survey) planned(ctx context.Context) ([]args, error) {
	targets := []notification.Target{
		{Entity: notification.Entity{Type: notification.EntityBroadcast, ID: "0"}},
		{Entity: notification.Entity{Type: notification.EntityRestaurant, ID: "0"}, Roles: []string{"MANAGER"}},
		{Entity: notification.Entity{Type: notification.EntityCustomer, ID: "0"}, UserType: notification.Customer},
	}
	for _, target := range targets {
		if _, err := planner.On(s.db).Recipients(ctx, "", []notification.Target{target}, notification.Cursor{}, 1); err != nil {
			return []args{{"why": cause(err)}}, nil
		}
	}
	return nil, nil
}
