package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/template"
)

const templateRows = "notification_template"

// optionalKey tells how a template may use a key that some payloads lack. A plain index would print
// <no value>.
const optionalKey = `correct the template or the producer; write a key that may be missing as {{with index .payload "key"}}{{.}}{{end}}, ` +
	`and a key of an object that may be missing as {{with index .payload "object"}}{{with index . "key"}}{{.}}{{end}}{{end}}`

// noLink is the remedy for a wrong url.
const noLink = "correct the url: its notifications have no link until then"

// templatesOf checks that every routed channel has a template in every locale of the recipients,
// that each template can be parsed, and that the last events have all keys that it uses.
func templatesOf(db *db.DB, engine template.Engine, recent *recentEvents) Subject {
	return Subject{"templates", func(ctx context.Context) ([]Mistake, error) {
		t, err := readTemplates(ctx, report.Reader{Pool: db.Pool}, engine)
		if err != nil {
			return nil, err
		}
		mistakes := append(few(t.unusable()), few(t.missing())...)
		mistakes = append(mistakes, few(t.digests())...)
		types, err := recent.read(ctx)
		if err != nil {
			return mistakes, err
		}
		unfit, err := t.unfit(ctx, types)
		return append(mistakes, few(unfit)...), err
	}}
}

type templates struct {
	engine  template.Engine
	rows    []notification.Template
	routes  []report.Route
	locales []string
	set     *template.Set // built without an event

	escalations []report.EscalationRule
}

// mostLocales is the highest number of locales in which one event is rendered.
const mostLocales = 20

func readTemplates(ctx context.Context, reader report.Reader, engine template.Engine) (t templates, err error) {
	t.engine = engine
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
	t.set = engine.NewSet(notification.Event{Payload: []byte("{}")}, t.rows)
	return t, nil
}

// unusable finds templates that fit no event.
func (t templates) unusable() (mistakes []Mistake) {
	for _, row := range t.rows {
		if err := t.engine.Usable(row); err != nil {
			mistakes = append(mistakes, Mistake{Place: templateRows, Row: templateKey(row.EventType, row.Channel, row.Locale), Problem: err.Error(), Remedy: "correct the template: every delivery that needs it fails"})
		}
		if err := template.UsableURL(row); err != nil {
			mistakes = append(mistakes, Mistake{Place: templateRows, Row: templateKey(row.EventType, row.Channel, row.Locale), Problem: err.Error(), Remedy: noLink})
		}
	}
	return mistakes
}

func templateKey(eventType, channel, locale string) string {
	return eventType + "/" + channel + "/" + locale
}

// missing finds routed channels without a template for some locale.
func (t templates) missing() (mistakes []Mistake) {
	for _, route := range t.routes {
		names := []string{route.EventType}
		if route.Strategy == notification.Aggregate {
			names = append(names, template.DigestName)
		}
		for _, name := range names {
			lacking := slices.DeleteFunc(slices.Clone(t.locales), func(locale string) bool { return t.serves(name, route, locale) })
			if len(lacking) > 0 {
				mistakes = append(mistakes, Mistake{Place: routingRules, Row: route.EventType + "/" + string(route.Channel), Problem: fmt.Sprintf("there is no template %s/%s in %s, nor in en", name, route.Channel, localeList(lacking)),
					Remedy: fmt.Sprintf("insert one into %s: event_type %s or *, channel %s or *, and locale en for all without a template in their language", templateRows, name, route.Channel)})
			}
		}
	}
	return mistakes
}

// serves reports whether there is a template. For a route that is on_escalation_only, the template
// for escalations suffices.
func (t templates) serves(name string, route report.Route, locale string) bool {
	return t.set.Serves(name, route.Channel, locale) ||
		(route.OnEscalationOnly && t.set.Serves(notification.EscalatedType(route.EventType), route.Channel, locale))
}

func localeList(locales []string) string {
	names := make([]string, len(locales))
	for i, locale := range locales {
		names[i] = shown(locale)
	}
	return strings.Join(names, ", ")
}

// digests finds templates that fail in every digest.
func (t templates) digests() (mistakes []Mistake) {
	items := []notification.DigestItem{{DeliveryID: "evt-1-customer1-EMAIL", EventID: "evt-1", Title: "Title", Body: "Body", CreatedAt: time.Now()}}
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
			mistakes = append(mistakes, Mistake{Place: templateRows, Row: templateKey(unfit.EventType, unfit.Channel, unfit.Locale), Problem: fmt.Sprintf("%v, in every digest of %s over %s", unfit.Err, route.EventType, route.Channel),
				Remedy: fmt.Sprintf("insert a template of event_type %s for %s, or correct this one: it has .Items, .recipient and .event.type", template.DigestName, route.Channel)})
		}
	}
	return mistakes
}

// unfit finds templates that need keys which the last events lack. If the time runs out, the
// templates of the current event type are not reported.
func (t templates) unfit(ctx context.Context, types []recentType) (mistakes []Mistake, err error) {
	for _, recent := range types {
		var found []*misfit
		for _, event := range recent.events {
			set, escalated := t.engine.NewSet(event, recent.setup.Templates), t.engine.NewEscalatedSet(event, t.rows)
			for _, route := range recent.setup.Routing {
				for _, set := range []*template.Set{set, escalated} {
					if set == escalated && !t.escalated(recent.name, route.Channel) || set != escalated && route.OnEscalationOnly {
						continue
					}
					found = t.addUnfit(ctx, found, set, event.ID, route.Channel)
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return mistakes, err
		}
		for _, m := range found {
			remedy := optionalKey
			if m.isURL {
				remedy = noLink + "; " + remedy
			}
			mistakes = append(mistakes, Mistake{Place: templateRows, Row: templateKey(m.row.EventType, m.row.Channel, m.row.Locale),
				Problem: fmt.Sprintf("%v, in %d of the last %d events of type %s, such as %s", m.row.Err, m.events, len(recent.events), recent.name, m.first),
				Remedy:  remedy})
		}
	}
	return mistakes, nil
}

// addUnfit renders an event for a channel in every locale, and adds the templates that fail or lose
// their link.
func (t templates) addUnfit(ctx context.Context, found []*misfit, set *template.Set, eventID string, channel notification.Channel) []*misfit {
	for _, locale := range t.locales {
		var unfit *template.RowError
		text, err := set.Render(ctx, channel, sample(locale))
		switch row, _ := set.Chosen(channel, locale); {
		case errors.As(err, &unfit) && !t.isUnusable(unfit):
			found = add(found, unfit, eventID, false)
		case text.URLProblem != nil && template.UsableURL(row) == nil:
			found = add(found, &template.RowError{EventType: row.EventType, Channel: row.Channel, Locale: row.Locale, Err: text.URLProblem}, eventID, true)
		}
	}
	return found
}

// escalated reports whether an escalation leads to the channel.
func (t templates) escalated(eventType string, channel notification.Channel) bool {
	return slices.ContainsFunc(t.escalations, func(rule report.EscalationRule) bool { return rule.EventType == eventType && rule.To == channel })
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
