package template

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	texttemplate "text/template"

	"herald/internal/notification"
)

// blockAction matches {{block}}, which would be a keyword of Go's templates.
var blockAction = regexp.MustCompile(`\{\{(-?\s*)block(\s*-?)\}\}`)

// layoutPart parses the layout of a row. Without a layout, its template is nil.
func (e Engine) layoutPart(row notification.Template) (templatePart, error) {
	if row.Layout == "" {
		return templatePart{}, nil
	}
	if row.LayoutBody == "" {
		return templatePart{}, fmt.Errorf("layout %s: notification_layout has it neither in the template's language nor in en", row.Layout)
	}
	if !blockAction.MatchString(row.LayoutBody) {
		return templatePart{}, fmt.Errorf("layout %s: it has no {{block}}, where the text goes", row.Layout)
	}
	parse := parseText
	switch layoutChannel(row.Channel).Markup() {
	case notification.HTML:
		parse = e.parseHTML
	case notification.Mrkdwn:
		parse = parseMrkdwn
	}
	part, err := parsePart("layout", blockAction.ReplaceAllString(row.LayoutBody, "{{${1}.block${2}}}"), parse, e.Coverage.part(row, "layout"))
	if err != nil {
		return part, fmt.Errorf("layout %s: %w", row.Layout, err)
	}
	return part, nil
}

// layoutChannel returns the channel over which a row's layout holds.
func layoutChannel(of string) notification.Channel {
	if of == anything {
		return notification.Email
	}
	return notification.Channel(of)
}

// layoutRoots are the fields that a layout may use.
func layoutRoots() roots {
	return roots{
		"block": nil, "unsubscribe_url": nil, "preferences_url": nil, "mute_url": nil, "reason": nil, "event": {"type"},
		"recipient": slices.Sorted(maps.Keys(recipientData(notification.Recipient{}))),
	}
}

// checkLayout refuses a layout that names a field which no layout has.
func checkLayout(row notification.Template) error {
	t, err := texttemplate.New("").Funcs(functions()).Parse(blockAction.ReplaceAllString(row.LayoutBody, "{{.block}}"))
	if err != nil || t.Tree == nil {
		return nil // compile reports it
	}
	if layoutRoots().check(t.Tree.Root, true) != nil {
		return fmt.Errorf("layout %s: it names a field other than .unsubscribe_url, .preferences_url, .mute_url, .reason, .event.type and "+
			".recipient", row.Layout)
	}
	return nil
}

// wrap writes a layout around a body, which is complete markup.
func (e Engine) wrap(
	ctx context.Context, t *compiled, row notification.Template, channel notification.Channel, in dataOf, body string,
) (string, error) {
	if t.layout.template == nil || in.isItem || layoutChannel(row.Channel) != channel {
		return body, nil
	}
	data := map[string]any{
		"block": markedBody(channel, body), "unsubscribe_url": "",
		"event": map[string]any{"type": in.eventType}, "recipient": recipientData(in.recipient),
	}
	for _, name := range reasonNames {
		data[name] = in.line[name]
	}
	if row.Optional && e.UnsubscribeURL != nil {
		data["unsubscribe_url"] = e.UnsubscribeURL(channel, notification.Message{
			UserType: in.recipient.UserType, UserID: in.recipient.UserID, Category: row.Category, To: in.recipient.Address(channel),
		})
	}
	return t.layout.render(ctx, data)
}
