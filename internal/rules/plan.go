package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Action is the change that an apply makes to a row.
type Action string

const (
	Create Action = "CREATE"
	Modify Action = "CHANGE"
	Delete Action = "DELETE"
)

// Plan holds the changes that an apply would make.
type Plan struct {
	Changes []Change `json:"changes"`
	Unowned []Change `json:"unowned"` // rows that no file has, and that only --prune deletes
	Prune   bool     `json:"prune"`

	adopted []Row // equal in the file and in the table, and not in applied_rule
}

// Change is the change of a row.
type Change struct {
	Action    Action         `json:"action"`
	Table     string         `json:"table"`
	Key       map[string]any `json:"key"`
	EventType string         `json:"event_type,omitempty"` // whose file has the row; empty: installation.yaml
	File      string         `json:"file,omitempty"`
	Line      int            `json:"line,omitempty"`
	Before    map[string]any `json:"before"` // null: there is no row
	After     map[string]any `json:"after"`  // null: the row is deleted
	Drift     *Drift         `json:"drift"`  // null: nobody changed the row by hand

	of  *table
	row Row
}

// Drift tells that somebody changed a row after an apply had written it.
type Drift struct {
	Applied   map[string]any `json:"applied"`
	AppliedAt time.Time      `json:"applied_at"`
	AppliedBy string         `json:"applied_by"`
}

// Differs reports whether an apply would change something.
func (p Plan) Differs() bool { return len(p.Changes) > 0 }

// Drifted returns the changes of rows that somebody changed by hand.
func (p Plan) Drifted() []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Drift == nil })
}

// Count returns the number of changes with an action.
func (p Plan) Count(action Action) int {
	n := 0
	for _, c := range p.Changes {
		if c.Action == action {
			n++
		}
	}
	return n
}

// Plan compares the folder with the database. With prune, rows that no file has are deleted.
func (f *Folder) Plan(ctx context.Context, d *db.DB, prune bool) (p Plan, err error) {
	err = inSnapshot(ctx, d, func(tx pgx.Tx) error {
		p, err = f.plan(ctx, tx, prune)
		return err
	})
	return p, err
}

func (f *Folder) plan(ctx context.Context, tx pgx.Tx, prune bool) (Plan, error) {
	p := Plan{Changes: []Change{}, Unowned: []Change{}, Prune: prune}
	rows, err := f.normalize(ctx, tx)
	if err != nil {
		return p, err
	}
	has, err := readState(ctx, tx, rows)
	if err != nil {
		return p, err
	}
	inFiles := map[string]bool{}
	for _, r := range rows {
		inFiles[r.key] = true
		p.compare(r, has)
	}
	for _, key := range slices.Sorted(maps.Keys(has.rows)) {
		if s := has.rows[key]; !inFiles[key] && f.owns(s) {
			p.unowned(s, has.applied[key])
		}
	}
	return p, nil
}

// compare adds the change of a row in a file.
func (p *Plan) compare(r Row, has state) {
	now, exists := has.rows[r.key]
	last, wasApplied := has.applied[r.key]
	if exists && reflect.DeepEqual(now.values, r.Values) {
		if !wasApplied || !reflect.DeepEqual(last.Content, r.Values) {
			p.adopted = append(p.adopted, r)
		}
		return
	}
	c := Change{
		Action: Create, Table: r.of.name, Key: r.of.keyValues(r.Values), EventType: eventTypeOf(r.of, r.Values), File: r.File, Line: r.Line,
		After: r.Values, of: r.of, row: r,
	}
	if exists {
		c.Action, c.Before = Modify, now.values
	}
	if wasApplied && !reflect.DeepEqual(last.Content, now.values) {
		c.Drift = &Drift{last.Content, last.AppliedAt, last.Actor}
	}
	p.Changes = append(p.Changes, c)
}

// unowned adds a row that no file has.
func (p *Plan) unowned(s stored, last applied) {
	c := Change{
		Action: Delete, Table: s.of.name, Key: s.of.keyValues(s.values), EventType: eventTypeOf(s.of, s.values), Before: s.values, of: s.of,
		row: Row{of: s.of, Table: s.of.name, Values: s.values},
	}
	if last.Content != nil && !reflect.DeepEqual(last.Content, s.values) {
		c.Drift = &Drift{last.Content, last.AppliedAt, last.Actor}
	}
	if p.Prune {
		p.Changes = append(p.Changes, c)
	} else {
		p.Unowned = append(p.Unowned, c)
	}
}

// owns reports whether the folder says all about the table of a row that it lacks. A folder without
// a section of installation.yaml says nothing about the section's table.
func (f *Folder) owns(s stored) bool {
	if eventTypeOf(s.of, s.values) != "" {
		return true
	}
	for _, file := range f.files {
		if file.eventType != "" {
			continue
		}
		for i := 0; i < len(file.root.Content); i += 2 {
			key := file.root.Content[i].Value
			if slices.ContainsFunc(installationSections, func(section section) bool { return section.key == key && section.table == s.of }) {
				return true
			}
		}
	}
	return false
}

// eventTypeOf returns the event type whose file has a row; empty: installation.yaml has it.
func eventTypeOf(t *table, of values) string {
	eventType, _ := of["event_type"].(string)
	if t != templates {
		return eventType
	}
	for _, suffix := range []string{".digest", ".escalated"} {
		eventType = strings.TrimSuffix(eventType, suffix)
	}
	if eventType == "*" || eventType == "digest" {
		return ""
	}
	return eventType
}

// Columns returns the names of the columns that a change changes, in the order of the table. A row
// that is created or deleted shows the columns that differ from the standard.
func (c Change) Columns() []string {
	var names []string
	for _, column := range c.of.columns {
		before, after := c.Before[column.name], c.After[column.name]
		if c.Before == nil {
			before = column.standard
		}
		if c.After == nil {
			after = column.standard
		}
		if !slices.Contains(c.of.key, column.name) && !reflect.DeepEqual(before, after) {
			names = append(names, column.name)
		}
	}
	return names
}

// Name returns the row's table and key: event_type_channel_routing PROMOTION EMAIL.
func (c Change) Name() string { return c.of.keyText(c.Key) }

// Text returns the value of a column before or after the change, as people write it. Of a missing row
// it is empty.
func (c Change) Text(columnName string, row map[string]any) string {
	if row == nil {
		return ""
	}
	column, _ := c.of.column(columnName)
	switch value := shown(column, row[columnName]).(type) {
	case nil:
		return "null"
	case string:
		return value
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprint(value)
		}
		return string(text)
	}
}
