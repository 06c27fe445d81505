package ruletest

import (
	"context"
	"fmt"

	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/rules"
	"herald/internal/template"
)

// Unreached is a rule, or a branch of a text, that no test reaches.
type Unreached struct {
	File string `json:"file"`
	Line int    `json:"line"`
	What string `json:"what"`
}

// coverage records what the tests reach.
type coverage struct {
	folder *rules.Folder
	texts  template.Coverage

	named       map[string][]bool // the rows that name recipients, by event type and in the order of the folder
	selections  map[reached]bool
	escalations map[reached]bool // by the first channel
}

type reached struct {
	eventType string
	channel   notification.Channel
}

func newCoverage(folder *rules.Folder) *coverage {
	return &coverage{folder: folder, named: map[string][]bool{}, selections: map[reached]bool{}, escalations: map[reached]bool{}}
}

func (c *coverage) selected(eventType string, channel notification.Channel) {
	c.selections[reached{eventType, channel}] = true
}

func (c *coverage) escalated(eventType string, from notification.Channel) {
	c.escalations[reached{eventType, from}] = true
}

// recipients records the rows that name somebody. It asks the directory about each row alone: if
// several rows name a recipient, planning names only the first one.
func (c *coverage) recipients(ctx context.Context, plan *planner.Plan) error {
	eventType := plan.Event.Type
	if c.named[eventType] == nil {
		c.named[eventType] = make([]bool, len(plan.Recipients))
	}
	for i, done := range c.named[eventType] {
		if done {
			continue
		}
		alone := *plan
		if alone.Targets, _ = notification.Targets(plan.Event, plan.Recipients[i:i+1]); len(alone.Targets) == 0 {
			continue
		}
		page, err := alone.Page(ctx, notification.Cursor{}, 1)
		if err != nil {
			return err
		}
		c.named[eventType][i] = len(page.Recipients) > 0
	}
	return nil
}

// unreached returns what no test reaches, in the order of the folder. For an event type without tests, it
// only says so.
func (c *coverage) unreached() []Unreached {
	found := []Unreached{}
	untested, tested := map[string]bool{}, false
	for _, event := range c.folder.Events {
		if tested = tested || len(event.Tests) > 0; len(event.Tests) == 0 {
			untested[event.File] = true
			found = append(found, Unreached{event.File, 1, event.Type + " has no tests"})
		}
	}
	if !tested {
		return found
	}
	rank := map[string]int{} // of the next row that names recipients
	for _, row := range c.folder.Rows {
		if untested[row.File] {
			continue
		}
		for _, what := range c.unreachedOf(row, rank) {
			found = append(found, Unreached{row.File, row.Line, what})
		}
	}
	return found
}

// unreachedOf returns what no test reaches of a row.
func (c *coverage) unreachedOf(row rules.Row, rank map[string]int) []string {
	value := func(column string) string {
		text, _ := row.Values[column].(string)
		return text
	}
	eventType := value("event_type")
	switch row.Table {
	case "event_type_recipients":
		i, rows := rank[eventType], c.named[eventType]
		rank[eventType]++
		if i >= len(rows) || !rows[i] {
			return []string{fmt.Sprintf("recipients %s: no test has such people", value("entity_type"))}
		}
	case "event_type_channel_routing":
		if channel := value("channel_type"); !c.selections[reached{eventType, notification.Channel(channel)}] {
			return []string{fmt.Sprintf("channel %s: no test selects it", channel)}
		}
	case "event_type_escalation":
		if from := value("from_channel"); !c.escalations[reached{eventType, notification.Channel(from)}] {
			return []string{fmt.Sprintf("escalation from %s to %s: no test leads to it", from, value("to_channel"))}
		}
	case "notification_template":
		return c.untaken(notification.Template{
			EventType: eventType, Channel: value("channel"), Locale: value("locale"), Title: value("title"), Body: value("body"), URL: value("url"),
		})
	}
	return nil
}

// untaken returns the branches of a text that no test takes.
func (c *coverage) untaken(row notification.Template) []string {
	text := fmt.Sprintf("text %s %s %s", row.EventType, row.Channel, row.Locale)
	branches, rendered := c.texts.Untaken(row)
	if !rendered {
		return []string{text + ": no test shows it"}
	}
	var found []string
	for _, b := range branches {
		found = append(found, fmt.Sprintf("%s, line %d of the %s: no test takes %s", text, b.Line, b.Part, b.Branch))
	}
	return found
}
