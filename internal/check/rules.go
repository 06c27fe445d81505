package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

const (
	recipientRules = "event_type_recipients"
	routingRules   = "event_type_channel_routing"
)

// rulesOf checks the rules against the last events, as planning reads them, and against the
// directory.
func rulesOf(db *postgres.Store, recent *recentEvents) Subject {
	reader := report.Reader{Pool: db.Pool}
	return Subject{"rules", func(ctx context.Context) ([]Mistake, error) {
		types, err := recent.read(ctx)
		if err != nil {
			return nil, err
		}
		mistakes := append(few(unrouted(types)), few(nameless(types))...)
		mistakes = append(mistakes, few(vainPaths(types))...)
		mistakes = append(mistakes, few(timeless(types))...)
		for _, find := range []func(context.Context, report.Reader) ([]Mistake, error){impossiblePaths, rulesOfNobody, rulesOverNoChannel, routesOfNobody, expiredRoutes, vainCaps, vainApprovals, settingsOfNobody, categories, escalations} {
			found, err := find(ctx, reader)
			if err != nil {
				return mistakes, err
			}
			mistakes = append(mistakes, few(found)...)
		}
		return mistakes, nil
	}}
}

// unrouted finds event types that have events but no routes.
func unrouted(types []recentType) (mistakes []Mistake) {
	for _, t := range types {
		if telling := t.telling(); len(telling) > 0 && len(t.setup.Routing) == 0 {
			mistakes = append(mistakes, Mistake{Place: routingRules, Row: t.name, Problem: fmt.Sprintf("events of this type come, such as %s, and no row routes them: they tell nobody", telling[0].ID),
				Remedy: "insert a row for each channel that it goes over"})
		}
	}
	return mistakes
}

// nameless finds event types without rows in event_type_recipients whose aggregate does not name
// recipients.
func nameless(types []recentType) (mistakes []Mistake) {
	for _, t := range types {
		if len(t.setup.Recipients) > 0 {
			continue
		}
		for _, event := range t.telling() {
			if _, problems := notification.Targets(event, nil); len(problems) > 0 {
				mistakes = append(mistakes, Mistake{Place: recipientRules, Row: t.name, Problem: fmt.Sprintf("event %s tells nobody: %s", event.ID, strings.Join(problems, "; ")),
					Remedy: "insert a row that says who is told of this type of event, and where its payload has their id"})
				break
			}
		}
	}
	return mistakes
}

// impossiblePaths finds paths that no payload can have, even before an event comes.
func impossiblePaths(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.Paths(ctx)
	for _, rule := range found {
		if flaw := notification.PathFlaw(rule.Path); flaw != "" {
			mistakes = append(mistakes, Mistake{Place: rule.Table, Row: rule.Row, Problem: flaw, Remedy: "correct " + rule.Column + " to where the payload has it"})
		}
	}
	return mistakes, err
}

// vainPaths finds rows whose entity_id_path finds nobody in any of the last events.
func vainPaths(types []recentType) (mistakes []Mistake) {
	for _, t := range types {
		for _, row := range t.setup.Recipients {
			if problem := vain(row, t.events); problem != "" {
				mistakes = append(mistakes, Mistake{Place: recipientRules, Row: ruleKey(t.name, row.UserType, row.EntityType, row.EntityIDPath),
					Problem: fmt.Sprintf("it finds nobody in the last %d events of its type, such as %s: %s", len(t.events), t.events[0].ID, problem),
					Remedy:  "correct entity_id_path to where the payload has the id; restaurantId and restaurant_id are different keys, and @aggregate is the event's aggregate_id"})
			}
		}
	}
	return mistakes
}

// vain returns the reason why a row finds nobody in any of the events; empty: it finds somebody.
func vain(row notification.EventRecipients, events []notification.Event) (problem string) {
	if notification.PathFlaw(row.EntityIDPath) != "" {
		return "" // impossiblePaths reports it
	}
	for _, event := range events {
		targets, problems := notification.Targets(event, []notification.EventRecipients{row})
		if len(targets) > 0 {
			return ""
		}
		problem = cmp.Or(problem, strings.Join(problems, "; "))
	}
	return problem
}

// timeless finds routing rows whose send time, or throttle key, one of the last events lacks. A
// delivery without its send time fails.
func timeless(types []recentType) (mistakes []Mistake) {
	for _, t := range types {
		named, keyless := map[notification.Channel]bool{}, map[notification.Channel]bool{}
		for _, event := range t.events {
			setup := notification.EventSetup{Event: event, Routing: slices.Clone(t.setup.Routing)}
			setup.ReadPayload()
			for _, route := range setup.Routing {
				if route.ThrottleKeyPath != "" && route.ThrottleKey == "" && !keyless[route.Channel] && notification.PathFlaw(route.ThrottleKeyPath) == "" {
					keyless[route.Channel] = true
					mistakes = append(mistakes, Mistake{Place: routingRules, Row: t.name + "/" + string(route.Channel), Problem: fmt.Sprintf("event %s has no value at throttle_key_path %s: such events share one throttle window", event.ID, route.ThrottleKeyPath),
						Remedy: "correct throttle_key_path to where the payload has the key, or the producer"})
				}
				if route.DueProblem != "" && !named[route.Channel] && notification.PathFlaw(route.SendAtPath) == "" {
					named[route.Channel] = true
					mistakes = append(mistakes, Mistake{Place: routingRules, Row: t.name + "/" + string(route.Channel), Problem: fmt.Sprintf("of event %s the time is not known: %s", event.ID, route.DueProblem),
						Remedy: "correct send_at_path to where the payload has the time, or the producer"})
				}
			}
		}
	}
	return mistakes
}

// ruleKey returns a key such as ORDER_PAID/CUSTOMER/CUSTOMER/customer.id, with "any" for a NULL
// user type.
func ruleKey(eventType string, userType notification.UserType, entityType, path string) string {
	return strings.Join([]string{eventType, cmp.Or(string(userType), "any"), entityType, cmp.Or(path, "no path")}, "/")
}

func rulesOfNobody(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.RulesOfNobody(ctx)
	for _, rule := range found {
		mistake := Mistake{Place: recipientRules, Row: ruleKey(rule.EventType, rule.UserType, rule.EntityType, rule.EntityIDPath)}
		if rule.EntityType == notification.EntityCustomer || rule.EntityType == notification.EntityAdmin {
			mistake.Problem = fmt.Sprintf("it tells nobody: %s means people of that type, and the row wants %s", rule.EntityType, rule.UserType)
			mistake.Remedy = "correct user_type, or name an entity type of your own and write its members into entity_member"
		} else {
			mistake.Problem = "it tells nobody: no active member of any " + rule.EntityType + members(rule)
			mistake.Remedy = "write the members into entity_member, or correct the row"
		}
		mistakes = append(mistakes, mistake)
	}
	return mistakes, err
}

func members(rule report.RecipientRule) string {
	text := ""
	if rule.UserType != "" {
		text = " is of type " + string(rule.UserType)
	}
	if rule.Roles != nil {
		text += cmp.Or(map[bool]string{true: " and"}[text != ""], "") + " has one of the roles " + strings.Join(rule.Roles, ", ")
	}
	return cmp.Or(text, " is in entity_member")
}

// rulesOverNoChannel finds rows for a user type that no routed channel serves.
func rulesOverNoChannel(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.RulesOverNoChannel(ctx)
	for _, rule := range found {
		mistakes = append(mistakes, Mistake{Place: recipientRules, Row: ruleKey(rule.EventType, rule.UserType, rule.EntityType, rule.EntityIDPath),
			Problem: fmt.Sprintf("none of the channels that %s is routed over serves %s: every delivery is UNSUPPORTED", rule.EventType, rule.UserType),
			Remedy:  fmt.Sprintf("insert a row into channel_user_type for %s and one of these channels, or route the type over one that serves them", rule.UserType)})
	}
	return mistakes, err
}

// routesOfNobody finds routes for roles that no active member has.
func routesOfNobody(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.RoutesOfNobody(ctx)
	for _, route := range found {
		problem := "no active member of any entity has the role " + strings.Join(route.Vacant, ", ")
		if len(route.Vacant) == 0 {
			problem = "roles is empty, so that the channel is for nobody"
		}
		mistakes = append(mistakes, Mistake{Place: routingRules, Row: route.EventType + "/" + string(route.Channel), Problem: problem, Remedy: "correct roles; NULL allows every role"})
	}
	return mistakes, err
}

// expiredRoutes finds routing whose deliveries expire before they are due.
func expiredRoutes(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	routes, err := reader.Routes(ctx)
	for _, r := range routes {
		if r.ExpiresAfter > 0 && r.ExpiresAfter <= r.Wait {
			mistakes = append(mistakes, Mistake{Place: routingRules, Row: r.EventType + "/" + string(r.Channel),
				Problem: fmt.Sprintf("its deliveries wait %s and expire after %s: none is ever sent", r.Wait, r.ExpiresAfter),
				Remedy:  "set expires_after to more than delay or digest_window"})
		}
	}
	return mistakes, err
}

// vainCaps finds caps of an unknown category, and caps whose spacing makes at_most superfluous.
func vainCaps(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.VainCaps(ctx)
	for _, c := range found {
		row := string(c.Channel) + "/" + cmp.Or(c.Category, "every category")
		if c.IsUnknown {
			mistakes = append(mistakes, Mistake{Place: "frequency_cap", Row: row, Problem: "no event type has the category, so it limits nothing",
				Remedy: "correct category, or insert rows into event_category"})
		}
		if c.IsUnmet {
			mistakes = append(mistakes, Mistake{Place: "frequency_cap", Row: row, Problem: "spacing allows fewer messages in per than at_most, which is never reached",
				Remedy: "shorten spacing, or leave out at_most and per"})
		}
	}
	return mistakes, err
}

func vainApprovals(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	types, err := reader.VainApprovals(ctx)
	for _, name := range types {
		mistakes = append(mistakes, Mistake{Place: "event_type_approval", Row: name, Problem: "no channel is routed for the event type, so nothing of it ever waits",
			Remedy: "correct event_type, or insert rows into event_type_channel_routing"})
	}
	return mistakes, err
}

func settingsOfNobody(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.SettingsOfNobody(ctx)
	for _, s := range found {
		row := fmt.Sprintf("%s/%s/%s/%s", s.EntityType, s.EntityID, s.Channel, cmp.Or(s.EventType, "every event type"))
		mistakes = append(mistakes, Mistake{Place: "entity_notification_settings", Row: row, Problem: "it allows only the roles " + strings.Join(s.Roles, ", ") + ", which no active member of the entity has: it keeps the channel from everybody",
			Remedy: "correct allowed_roles; NULL allows every role, and enabled = false is how a channel is switched off"})
	}
	return mistakes, err
}

// categories finds categories that recipients switched off but that no event type has any more, so
// that these messages come again. It also finds a category of event type *. A category whose event
// type has no events yet is no mistake.
func categories(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	types, err := reader.Values(ctx, "event_category", "event_type")
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(types, func(v report.ValueCount) bool { return v.Value == "*" }) {
		mistakes = append(mistakes, Mistake{Place: "event_category", Row: "*", Problem: "* is no event type, so this row is for none",
			Remedy: "insert a row for each event type of the category"})
	}
	known, err := reader.Values(ctx, "event_category", "category")
	if err != nil {
		return mistakes, err
	}
	wanted, err := reader.Values(ctx, "user_category_preferences", "category")
	for _, value := range wanted {
		if !slices.ContainsFunc(known, func(v report.ValueCount) bool { return v.Value == value.Value }) {
			mistakes = append(mistakes, Mistake{Place: "user_category_preferences", Row: "category " + shown(value.Value),
				Problem: have(value.Count) + " this category, which no event type has, so that what these recipients switched off comes again",
				Remedy:  "if it has another name now, UPDATE user_category_preferences SET category; if it is gone, delete these rows"})
		}
	}
	return mistakes, err
}
