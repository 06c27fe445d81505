package check

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/template"
)

const templateRows = "notification_template"

// templateFindings are mistakes in the templates: every routed channel needs one in each locale of the
// recipients, each can be parsed, and the last events have all keys that it uses.
var templateFindings = []finding[templates]{
	{place: templateRows, row: "$template", find: flawed(template.Engine.Usable),
		problem: "$why",
		remedy:  "correct the template: every delivery that needs it fails"},
	{place: templateRows, row: "$template", find: flawed(usableURL),
		problem: "$why",
		remedy:  noLink},
	{place: routingRules, row: "$route", find: templates.missing,
		problem: "there is no template $type/$channel in $locales, nor in en",
		remedy: "insert one into notification_template: event_type $type or *, channel $channel or *, " +
			"and locale en for all without a template in their language"},
	{place: templateRows, row: "$template", find: templates.digests,
		problem: "$why, in every digest of $type over $channel",
		remedy: "insert a template of event_type " + template.DigestName + " for $channel, or correct this one: " +
			"it has .Items, .recipient and .event.type"},
	{place: templateRows, row: "$template", find: templates.unfitNow,
		problem: "$why, in $events of the last $all events of type $type, such as $first",
		remedy: "${link}correct the template or the producer; " +
			`write a key that may be missing as {{with index .payload "key"}}{{.}}{{end}}, ` +
			`and a key of an object that may be missing as {{with index .payload "object"}}{{with index . "key"}}{{.}}{{end}}{{end}}`},
}

// noLink is the remedy for a wrong url.
const noLink = "correct the url: its notifications have no link until then"

// templates reads the templates, and looks for their mistakes.
func (s *survey) templates(ctx context.Context) ([]Mistake, error) {
	t, err := readTemplates(ctx, s)
	if err != nil {
		return nil, err
	}
	return evaluate(ctx, t, templateFindings)
}

type templates struct {
	engine  template.Engine
	rows    []notification.Template
	routes  []report.Route
	locales []string
	set     *template.Set // built without an event
	recent  *recentEvents

	escalations []report.EscalationRule
}

// mostLocales is the highest number of locales in which one event is rendered.
const mostLocales = 20

func readTemplates(ctx context.Context, s *survey) (t templates, err error) {
	reader := s.reader()
	t.engine, t.recent = s.texts, s.recent
	if t.rows, err = reader.Templates(ctx); err != nil {
		return t, err
	}
	if t.routes, err = reader.Routes(ctx); err != nil {
		return t, err
	}
	if t.escalations, err = reader.Escalations(ctx); err != nil {
		return t, err
	}
	used, err := reader.Values(ctx, "recipient", "locale")
	if err != nil { // the directory's check reports it
		used = nil
	}
	for _, locale := range used[:min(mostLocales, len(used))] {
		t.locales = append(t.locales, locale.Value)
	}
	if len(t.locales) == 0 {
		t.locales = []string{"en"}
	}
	t.set = t.engine.NewSet(notification.Event{Payload: []byte("{}")}, t.rows)
	return t, nil
}

// flawed finds templates that fit no event.
func flawed(check func(template.Engine, notification.Template) error) find[templates] {
	return func(t templates, _ context.Context) (found []args, err error) {
		for _, row := range t.rows {
			if flaw := check(t.engine, row); flaw != nil {
				found = append(found, args{"template": templateKey(row.EventType, row.Channel, row.Locale), "why": flaw.Error()})
			}
		}
		return found, nil
	}
}

func usableURL(_ template.Engine, row notification.Template) error { return template.UsableURL(row) }

func templateKey(eventType, channel, locale string) string {
	return eventType + "/" + channel + "/" + locale
}

// missing finds routed channels without a template for some locale.
func (t templates) missing(context.Context) (found []args, err error) {
	for _, route := range t.routes {
		names := []string{route.EventType}
		if route.Strategy == notification.Aggregate {
			names = append(names, template.DigestName)
		}
		for _, name := range names {
			var lacking []string
			for _, locale := range t.locales {
				if !t.serves(name, route, locale) {
					lacking = append(lacking, shown(locale))
				}
			}
			if len(lacking) > 0 {
				found = append(found, args{
					"route": routeKey(route.EventType, route.Channel), "type": name,
					"channel": string(route.Channel), "locales": strings.Join(lacking, ", "),
				})
			}
		}
	}
	return found, nil
}

// serves reports whether there is a template. For a route that is on_escalation_only, the template
// for escalations suffices.
func (t templates) serves(name string, route report.Route, locale string) bool {
	return t.set.Serves(name, route.Channel, locale) ||
		(route.OnEscalationOnly && t.set.Serves(notification.EscalatedType(route.EventType), route.Channel, locale))
}

// digests finds templates that fail in every digest.
func (t templates) digests(context.Context) (found []args, err error) {
	items := []notification.DigestItem{
		{DeliveryID: "evt-1-customer1-EMAIL", EventID: "evt-1", Title: "Title", Body: "Body", CreatedAt: time.Now()},
	}
	known := map[string]bool{}
	for _, route := range t.routes {
		if route.Strategy != notification.Aggregate {
			continue
		}
		for _, locale := range t.locales {
			_, err := t.engine.Digest(t.rows, route.EventType, route.Channel, sample(locale), items)
			var unfit *template.RowError
			if !errors.As(err, &unfit) || t.isUnusable(unfit) || known[unfit.Error()] {
				continue
			}
			known[unfit.Error()] = true
			found = append(found, args{
				"template": templateKey(unfit.EventType, unfit.Channel, unfit.Locale), "why": unfit.Err.Error(),
				"type": route.EventType, "channel": string(route.Channel),
			})
		}
	}
	return found, nil
}

func (t templates) unfitNow(ctx context.Context) ([]args, error) {
	types, err := t.recent.read(ctx)
	if err != nil {
		return nil, err
	}
	return t.unfit(ctx, types)
}

// unfit finds templates that need keys which the last events lack. If the time runs out, the
// templates of the current event type are not reported.
func (t templates) unfit(ctx context.Context, types []recentType) (all []args, err error) {
	for _, recent := range types {
		found := t.unfitOf(ctx, recent)
		if err := ctx.Err(); err != nil {
			return all, err
		}
		for _, m := range found {
			a := args{
				"template": templateKey(m.row.EventType, m.row.Channel, m.row.Locale), "why": m.row.Err.Error(), "type": recent.name,
				"events": strconv.Itoa(m.events), "all": strconv.Itoa(len(recent.events)), "first": m.first,
			}
			if m.isURL {
				a["link"] = noLink + "; "
			}
			all = append(all, a)
		}
	}
	return all, nil
}

// unfitOf renders the last events of a type for each of its channels, and for escalations to them.
func (t templates) unfitOf(ctx context.Context, recent recentType) (found []*misfit) {
	for _, event := range recent.events {
		set, escalated := t.engine.NewSet(event, recent.setup.Templates), t.engine.NewEscalatedSet(event, t.rows)
		for _, route := range recent.setup.Routing {
			if !route.OnEscalationOnly {
				found = t.addUnfit(ctx, found, set, event.ID, route.Channel)
			}
			if t.escalated(recent.name, route.Channel) {
				found = t.addUnfit(ctx, found, escalated, event.ID, route.Channel)
			}
		}
	}
	return found
}

// addUnfit renders an event for a channel in every locale, and adds the templates that fail or lose
// their link.
func (t templates) addUnfit(
	ctx context.Context, found []*misfit, set *template.Set, eventID string, channel notification.Channel,
) []*misfit {
	for _, locale := range t.locales {
		var unfit *template.RowError
		text, err := set.Render(ctx, channel, sample(locale))
		switch row, _ := set.Chosen(channel, locale); {
		case errors.As(err, &unfit) && !t.isUnusable(unfit):
			found = add(found, unfit, eventID, false)
		case text.URLProblem != nil && template.UsableURL(row) == nil:
			unfit = &template.RowError{EventType: row.EventType, Channel: row.Channel, Locale: row.Locale, Err: text.URLProblem}
			found = add(found, unfit, eventID, true)
		}
	}
	return found
}

// escalated reports whether an escalation leads to the channel.
func (t templates) escalated(eventType string, channel notification.Channel) bool {
	return slices.ContainsFunc(t.escalations, func(rule report.EscalationRule) bool {
		return rule.EventType == eventType && rule.To == channel
	})
}

// isUnusable reports whether a row fits no event. Then `unusable` reports the row already.
func (t templates) isUnusable(bad *template.RowError) bool {
	i := slices.IndexFunc(t.rows, func(row notification.Template) bool {
		return row.EventType == bad.EventType && row.Channel == bad.Channel && row.Locale == bad.Locale
	})
	return i >= 0 && t.engine.Usable(t.rows[i]) != nil
}

// sample returns a recipient with all fields that a template may use.
func sample(locale string) notification.Recipient {
	return notification.Recipient{UserType: notification.Customer, UserID: "1", Name: "Ada", Locale: locale}
}

// misfit is a template, with the events that it does not fit.
type misfit struct {
	row    *template.RowError
	first  string // the first event's id
	last   string
	events int
	isURL  bool
}

// add counts an event once for each row, however many locales and channels the row serves.
func add(found []*misfit, row *template.RowError, eventID string, isURL bool) []*misfit {
	i := slices.IndexFunc(found, func(m *misfit) bool { return m.row.Error() == row.Error() })
	if i < 0 {
		return append(found, &misfit{row: row, first: eventID, last: eventID, events: 1, isURL: isURL})
	}
	if m := found[i]; m.last != eventID {
		m.last = eventID
		m.events++
	}
	return found
}
