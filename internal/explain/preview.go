package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"herald/internal/advice"
	"herald/internal/mailtext"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

// PreviewRequest asks for the text that one recipient would get over one channel.
type PreviewRequest struct {
	EventID  string          // an event in event_outbox; empty: use Type and Payload
	Type     string          // the type of an event that is not in event_outbox
	Payload  json.RawMessage // a JSON object
	UserType notification.UserType
	UserID   string
	Channel  notification.Channel
	Locale   string // empty: the recipient's locale
	Digest   bool   // show the text of a digest with this event as its item
}

// Preview is the text that planning would write now, and its origin.
type Preview struct {
	EventID   string                `json:"event_id"`
	EventType string                `json:"event_type"`
	Recipient string                `json:"recipient"`
	Channel   notification.Channel  `json:"channel"`
	Locale    string                `json:"locale"`
	Template  notification.Template `json:"template"`
	Title     string                `json:"title"`
	Body      string                `json:"body"`            // with the markup of the channel
	Plain     string                `json:"plain,omitempty"` // the text part of an e-mail
	URL       string                `json:"url,omitempty"`   // where it leads
	Notes     []string              `json:"notes"`           // why the message may not be sent like this
}

// Preview renders a text with planning's code. An error is the error that planning would record,
// with advice.
func (e Explainer) Preview(ctx context.Context, in PreviewRequest) (Preview, error) {
	plan, err := e.plan(ctx, in.EventID, notification.Event{Type: in.Type, Payload: in.Payload}, time.Time{})
	if err != nil {
		return Preview{}, err
	}
	person, err := planner.On(e.DB).DirectoryEntry(ctx, in.UserType, in.UserID, nil)
	if err != nil {
		return Preview{}, err
	}
	name := string(in.UserType) + "/" + in.UserID
	if !person.Known {
		return Preview{},
			advice.With(fmt.Errorf("recipient %s is not in the directory", name), "name somebody who has a row in recipient, or add one")
	}
	if in.Locale != "" {
		person.Recipient.Locale = in.Locale
	}
	return e.write(ctx, in, plan.EventSetup, person)
}

func (e Explainer) write(
	ctx context.Context, in PreviewRequest, setup notification.EventSetup, person notification.DirectoryEntry,
) (Preview, error) {
	set := e.Texts.NewSet(setup.Event, setup.Templates)
	row, found := set.Chosen(in.Channel, person.Recipient.Locale)
	render := set.Render
	if in.Digest {
		render = set.RenderItem
	}
	text, err := render(ctx, in.Channel, person.Recipient)
	if err != nil {
		return Preview{}, advice.With(err, mendTemplate(row, found, setup.Event.Type, in.Channel))
	}
	if in.Digest {
		if row, text, err = e.digest(ctx, in.Channel, setup.Event, person.Recipient, text); err != nil {
			return Preview{}, err
		}
	}
	p := Preview{
		EventID: setup.Event.ID, EventType: setup.Event.Type, Recipient: string(in.UserType) + "/" + in.UserID, Channel: in.Channel,
		Locale:   person.Recipient.Locale,
		Template: row, Title: text.Title, Body: text.Body, URL: text.URL, Notes: previewNotes(setup, person, in.Channel),
	}
	if text.URLProblem != nil {
		p.Notes = append(p.Notes, "it has no link: "+text.URLProblem.Error())
	}
	if in.Channel.Markup() == notification.HTML {
		p.Plain = mailtext.Plain(text.Title, text.Body)
	}
	return p, nil
}

// digest renders a digest with one item, and returns the template's row.
func (e Explainer) digest(
	ctx context.Context, channel notification.Channel, event notification.Event, recipient notification.Recipient, item notification.Text,
) (notification.Template, notification.Text, error) {
	rows, err := e.reader().Templates(ctx)
	if err != nil {
		return notification.Template{}, notification.Text{}, err
	}
	row, found := template.ChosenDigest(rows, event.Type, channel, recipient.Locale)
	items := []notification.DigestItem{{EventID: event.ID, Title: item.Title, Body: item.Body, CreatedAt: event.CreatedAt,
		Entity: recipient.Entity, EntityName: recipient.EntityName, MemberRole: recipient.MemberRole}}
	text, err := e.Texts.Digest(rows, event.Type, channel, recipient, items)
	if err != nil {
		return row, text, advice.With(err, mendTemplate(row, found, template.DigestType(event.Type), channel))
	}
	return row, text, nil
}

func mendTemplate(row notification.Template, found bool, eventType string, channel notification.Channel) string {
	if !found {
		return fmt.Sprintf("add a row to notification_template: event_type %s or *, channel %s or *, the recipient's locale, its language or en",
			eventType, channel)
	}
	return fmt.Sprintf("correct the row of notification_template with event_type %s, channel %s and locale %s, or add the missing key to "+
		"the payload",
		row.EventType, row.Channel, row.Locale)
}

// previewNotes tells why planning would not send this text.
func previewNotes(setup notification.EventSetup, person notification.DirectoryEntry, channel notification.Channel) []string {
	notes := []string{}
	if !person.Active {
		notes = append(notes, "the recipient is not active (recipient), so they would get nothing")
	}
	for _, route := range setup.Routing {
		switch {
		case route.Channel != channel:
		case route.Strategy == notification.Aggregate:
			return append(notes, "it is sent as an item of a digest; --digest shows the digest's text")
		default:
			return notes
		}
	}
	return append(notes, fmt.Sprintf("%s does not go over %s: event_type_channel_routing has no row for it", setup.Event.Type, channel))
}
