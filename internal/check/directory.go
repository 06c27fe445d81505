package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"herald/internal/address"
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/report"
)

// directoryTables are the tables that may be views.
var directoryTables = []string{"recipient", "recipient_device", "entity_member"}

// directoryOf checks recipient, recipient_device and entity_member. A view must have the columns
// that planning reads, with types that can be cast, and rows that planning can use.
func directoryOf(db *db.DB, s Senders) Subject {
	d := directory{db: db, reader: report.Reader{Pool: db.Pool}, senders: s}
	return Subject{"directory", d.find}
}

type directory struct {
	db      *db.DB
	reader  report.Reader
	senders Senders
}

func (d directory) find(ctx context.Context) ([]Mistake, error) {
	var mistakes []Mistake
	whole := true // no column is missing or cannot be cast
	views := false
	for _, table := range directoryTables {
		relation, err := d.reader.Relation(ctx, table)
		if err != nil {
			return mistakes, err
		}
		found, err := d.columns(ctx, table, relation)
		mistakes = append(mistakes, found...)
		if err != nil {
			return mistakes, err
		}
		whole, views = whole && len(found) == 0, views || relation.View
	}
	if !whole {
		return mistakes, nil
	}
	parts := []func(context.Context) ([]Mistake, error){d.inactive, d.userTypes, d.timezones, d.addresses, d.webhooks}
	if views { // tables have constraints that prevent these mistakes
		parts = append(parts, d.ids, d.unknownMembers, d.planned)
	}
	return inTurn(ctx, parts...)
}

// columns finds columns that are missing, or that cannot be cast.
func (d directory) columns(ctx context.Context, table string, relation report.Relation) ([]Mistake, error) {
	if len(relation.Columns) == 0 {
		return []Mistake{{Place: table, Problem: "there is no such table or view", Remedy: "create a view of that name over your own table, with the columns of Herald's table"}}, nil
	}
	var mistakes []Mistake
	for _, column := range db.DirectoryColumns() {
		if column.Table != table {
			continue
		}
		has, found := relation.Columns[column.Name]
		if !found && column.Null == db.MayLack {
			continue
		}
		if !found {
			mistakes = append(mistakes, Mistake{Place: table, Row: "column " + column.Name, Problem: "it is missing", Remedy: added(column)})
			continue
		}
		if has == column.Type {
			continue
		}
		var refused *report.CastError
		err := d.reader.Cast(ctx, table, column.Name, column.Type)
		switch {
		case errors.As(err, &refused):
			mistakes = append(mistakes, Mistake{Place: table, Row: "column " + column.Name, Problem: fmt.Sprintf("it is %s where Herald reads %s: %v", has, column.Type, refused),
				Remedy: "write an expression of type " + column.Type + " for it in the view"})
		case err != nil:
			return mistakes, err
		}
	}
	return mistakes, nil
}

// added tells how to add a column to a view. It does not advise a NULL that would keep people from
// all messages.
func added(column db.DirectoryColumn) string {
	switch {
	case column.Type == "boolean":
		return fmt.Sprintf("add it to the view as boolean; without such a column, as true AS %s, since NULL means not active", column.Name)
	case column.Null == db.PassedOver:
		return fmt.Sprintf("add it to the view as %s; if it is NULL, %s", column.Type, column.Null)
	default:
		return fmt.Sprintf("add it to the view as %s; without such a column, as NULL::%[1]s AS %s", column.Type, column.Name)
	}
}

// ids finds users whose ids are missing, unusable or not unique.
func (d directory) ids(ctx context.Context) ([]Mistake, error) {
	var mistakes []Mistake
	for _, table := range directoryTables {
		flaws, err := d.reader.IDFlaws(ctx, table)
		if err != nil {
			return mistakes, err
		}
		for _, kind := range []struct {
			count                int
			row, problem, remedy string
		}{
			{flaws.NoType, "user_type", "no user_type, so Herald tells them nothing", "give each row a user_type in the view, or leave such rows out"},
			{flaws.NoID, "user_id", "no user_id, so Herald tells them nothing", "give each row a user_id in the view, or leave such rows out"},
			{flaws.LongID, "user_id", "a user_id of more than 64 bytes, so Herald tells them nothing", "use a shorter key in the view: a number, or a uuid"},
			{flaws.UnshownID, "user_id", "control characters in their user_id", "use another key in the view: a number, or a uuid"},
			{flaws.Twice, "user_type, user_id", "the same user as another row, and Herald may use either row", "let the view have one row for each user"},
		} {
			if kind.count > 0 {
				mistakes = append(mistakes, Mistake{Place: table, Row: kind.row, Problem: have(kind.count) + " " + kind.problem, Remedy: kind.remedy})
			}
		}
	}
	return mistakes, nil
}

// userTypeTables are the tables with a column user_type.
var userTypeTables = append([]string{"event_type_recipients", "channel_user_type", "user_notification_preferences"}, directoryTables...)

// userTypes finds user types that table user_type does not have.
func (d directory) userTypes(ctx context.Context) (mistakes []Mistake, err error) {
	known, err := person.On(d.db).UserTypes(ctx)
	isKnown := func(value string) bool {
		return slices.ContainsFunc(known, func(row notification.UserTypeRow) bool { return string(row.UserType) == value })
	}
	for _, table := range userTypeTables {
		if err == nil {
			mistakes, err = d.addUnknown(ctx, mistakes, table, "user_type", isKnown, "this type, which is not in user_type, so Herald tells them nothing",
				"correct it, or insert it into user_type and channel_user_type")
		}
	}
	return mistakes, err
}

// timezones finds unknown time zones, for which quiet hours use UTC.
func (d directory) timezones(ctx context.Context) (mistakes []Mistake, err error) {
	isKnown := func(value string) bool { _, known := notification.KnownZone(value); return known }
	for _, of := range []struct{ table, column string }{{"recipient", "timezone"}, {"entity_notification_settings", "quiet_hours_timezone"}, {"user_settings", "timezone"}} {
		if err == nil {
			mistakes, err = d.addUnknown(ctx, mistakes, of.table, of.column, isKnown, "this time zone, which the worker does not know, so their quiet hours are in UTC",
				"use the name of the IANA database, in its spelling: Europe/Rome")
		}
	}
	return mistakes, err
}

// addUnknown adds a mistake for each value of a column that is not known.
func (d directory) addUnknown(ctx context.Context, mistakes []Mistake, table, column string, isKnown func(string) bool, problem, remedy string) ([]Mistake, error) {
	values, err := d.reader.Values(ctx, table, column)
	var unknown []Mistake
	for _, value := range values {
		if !isKnown(value.Value) {
			unknown = append(unknown, Mistake{Place: table, Row: column + " " + shown(value.Value), Problem: have(value.Count) + " " + problem, Remedy: remedy})
		}
	}
	return append(mistakes, few(unknown)...), err
}

// namedPeople is the number of people that a mistake about addresses names.
const namedPeople = 3

// people counts the people with one mistake.
type people struct {
	count int
	first []string
}

func (p *people) add(person string) {
	if p.count++; len(p.first) < namedPeople {
		p.first = append(p.first, shown(person))
	}
}

// addresses finds people whose mail address or phone number cannot work. It names some of the people,
// and never an address.
func (d directory) addresses(ctx context.Context) (mistakes []Mistake, err error) {
	relation, err := d.reader.Relation(ctx, "recipient")
	if err != nil {
		return nil, err
	}
	for _, channel := range []notification.Channel{notification.Email, notification.SMS} {
		if relation.Columns[channel.AddressColumn()] == "" {
			continue
		}
		found := map[address.Flaw]*people{}
		err := d.reader.Addresses(ctx, channel.AddressColumn(), func(of report.PersonAddress) {
			if _, flaw := address.Normal(channel, of.Address); flaw != "" && flaw != address.Empty {
				if found[flaw] == nil {
					found[flaw] = &people{}
				}
				found[flaw].add(of.Person)
			}
		})
		if err != nil {
			return mistakes, err
		}
		for _, flaw := range slices.Sorted(maps.Keys(found)) {
			mistakes = append(mistakes, Mistake{Place: "recipient", Row: channel.AddressColumn(),
				Problem: fmt.Sprintf("%s %s %s, so each %s to them fails: %s", have(found[flaw].count), channel.AddressWord(), flaw, channel, strings.Join(found[flaw].first, ", ")),
				Remedy:  "correct it, or empty it; write a number as +41791234567: Herald drops spaces around an address and separators in a number, but guesses nothing"})
		}
	}
	return mistakes, nil
}

// webhooks finds addresses that a channel's sender refuses. It reads only their scheme and host.
func (d directory) webhooks(ctx context.Context) (mistakes []Mistake, err error) {
	relation, err := d.reader.Relation(ctx, "recipient")
	if err != nil {
		return nil, err
	}
	for _, channel := range notification.Channels() {
		column, flaw := channel.AddressColumn(), d.senders.flawOf(channel)
		if relation.Columns[column] == "" || flaw == nil {
			continue
		}
		bases, err := d.reader.URLBases(ctx, column)
		if err != nil {
			return mistakes, err
		}
		found := map[string]*people{}
		for _, base := range bases {
			if problem := flaw(base.Base); problem != "" {
				if found[problem] == nil {
					found[problem] = &people{}
				}
				found[problem].count += base.Count - len(base.People)
				for _, person := range base.People {
					found[problem].add(person)
				}
			}
		}
		for _, problem := range slices.Sorted(maps.Keys(found)) {
			mistakes = append(mistakes, Mistake{Place: "recipient", Row: column,
				Problem: fmt.Sprintf("%s a webhook to which nothing is sent: %s: %s", have(found[problem].count), problem, strings.Join(found[problem].first, ", ")),
				Remedy:  fmt.Sprintf("correct the webhooks, or add their host to %s_ALLOWED_HOSTS where the worker runs, and here", channel)})
		}
	}
	return mistakes, nil
}

// planned reads a recipient and a member as planning does. This finds mistakes that the other
// checks miss.
func (d directory) planned(ctx context.Context) ([]Mistake, error) {
	targets := []notification.Target{
		{Entity: notification.Entity{Type: notification.EntityBroadcast, ID: "0"}},
		{Entity: notification.Entity{Type: notification.EntityRestaurant, ID: "0"}, Roles: []string{"MANAGER"}},
		{Entity: notification.Entity{Type: notification.EntityCustomer, ID: "0"}, UserType: notification.Customer},
	}
	for _, target := range targets {
		if _, err := planner.On(d.db).Recipients(ctx, "", []notification.Target{target}, notification.Cursor{}, 1); err != nil {
			return []Mistake{{Place: "recipient, recipient_device, entity_member", Problem: "planning cannot read them: " + cause(err), Remedy: "correct the views; docs/directory.md describes each column"}}, nil
		}
	}
	return nil, nil
}

// inactive finds a directory without any active person.
func (d directory) inactive(ctx context.Context) ([]Mistake, error) {
	people, err := d.reader.People(ctx)
	if err != nil || people.All == 0 || people.Active > 0 {
		return nil, err
	}
	return []Mistake{{Place: "recipient", Row: "active", Problem: fmt.Sprintf("none of the first %d people is active, so Herald tells nobody anything", people.All),
		Remedy: "set active to true for people who may be told; in a view, write coalesce(active, true) or true AS active, since NULL means not active"}}, nil
}

// unknownMembers finds members that planning skips because recipient does not have them.
func (d directory) unknownMembers(ctx context.Context) (mistakes []Mistake, err error) {
	found, err := d.reader.UnknownMembers(ctx)
	for _, s := range found {
		mistakes = append(mistakes, Mistake{Place: "entity_member", Row: shown(s.EntityType) + "/" + shown(s.UserType),
			Problem: have(s.Count) + " a user who is not in recipient, so Herald tells them nothing",
			Remedy:  "use the same user_type and user_id in both tables, and add every member to recipient"})
	}
	return few(mistakes), err
}
