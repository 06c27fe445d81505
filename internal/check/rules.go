package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/report"
)

const (
	recipientRules = "event_type_recipients"
	routingRules   = "event_type_channel_routing"
)

// finder finds mistakes of one kind.
type finder func(ctx context.Context, reader report.Reader) ([]Mistake, error)

// rulesOf checks the rules against the last events, as planning reads them, and against the
// directory.
func rulesOf(db *db.DB, recent *recentEvents) Subject {
	return Subject{"rules", func(ctx context.Context) (mistakes []Mistake, err error) {
		types, err := recent.read(ctx)
		if err != nil {
			return nil, err
		}
		for _, find := range []func([]recentType) []Mistake{unrouted, nameless, vainPaths, timeless} {
			mistakes = append(mistakes, few(find(types))...)
		}
		for _, find := range []finder{
			eachOf(report.Reader.Paths, impossiblePath), eachOf(report.Reader.RulesOfNobody, ruleOfNobody), eachOf(report.Reader.RulesOverNoChannel, ruleOverNoChannel),
			eachOf(report.Reader.RoutesOfNobody, routeOfNobody), eachOf(report.Reader.Routes, expiredRoute), eachOf(report.Reader.Routes, silencedRoute), vainCaps,
			eachOf(report.Reader.VainApprovals, vainApproval), eachOf(report.Reader.SettingsOfNobody, settingOfNobody), categories, escalations,
		} {
			found, err := find(ctx, report.Reader{Pool: db.Pool})
			if err != nil {
				return mistakes, err
			}
			mistakes = append(mistakes, few(found)...)
		}
		return mistakes, nil
	}}
}

// eachOf returns a finder that describes each row. A row without a problem is no mistake.
func eachOf[Row any](read func(report.Reader, context.Context) ([]Row, error), describe func(Row) Mistake) finder {
	return func(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
		rows, err := read(reader, ctx)
		for _, row := range rows {
			if mistake := describe(row); mistake.Problem != "" {
				mistakes = append(mistakes, mistake)
			}
		}
		return mistakes, err
	}
}

// unrouted finds event types that have events but no routes.
func unrouted(types []recentType) (mistakes []Mistake) {
	for _, t := range types {
		if telling := t.telling(); len(telling) > 0 && len(t.setup.Routing) == 0 {
			mistakes = append(mistakes, Mistake{Place: routingRules, Row: t.name, Problem: fmt.Sprintf("no row routes events of this type, such as %s: they tell nobody", telling[0].ID),
				Remedy: "insert a row for each channel of the type"})
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
					Remedy: "insert a row that names the recipients of this event type, and the path of their id in the payload"})
				break
			}
		}
	}
	return mistakes
}

// impossiblePath describes a path that no payload can have, even before an event comes.
func impossiblePath(rule report.PathRule) Mistake {
	return Mistake{Place: rule.Table, Row: rule.Row, Problem: notification.PathFlaw(rule.Path), Remedy: "correct " + rule.Column + " to where the payload has it"}
}

// vainPaths finds rows whose entity_id_path finds nobody in any of the last events.
func vainPaths(types []recentType) (mistakes []Mistake) {
	for _, t := range types {
		for _, row := range t.setup.Recipients {
			if problem := vain(row, t.events); problem != "" {
				mistakes = append(mistakes, Mistake{Place: recipientRules, Row: ruleKey(t.name, row.UserType, row.EntityType, row.EntityIDPath),
					Problem: fmt.Sprintf("it finds nobody in the last %d events of its type, such as %s: %s", len(t.events), t.events[0].ID, problem),
					Remedy:  "correct entity_id_path to the path of the id in the payload; restaurantId and restaurant_id are different keys, and @aggregate is the event's aggregate_id"})
			}
		}
	}
	return mistakes
}

// vain returns the reason why a row finds nobody in any of the events; empty: it finds somebody.
func vain(row notification.EventRecipients, events []notification.Event) (problem string) {
	if notification.PathFlaw(row.EntityIDPath) != "" {
		return "" // impossiblePath reports it
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

// timeless finds routing rows whose send time or throttle key is missing in one of the last events.
// A delivery without its send time fails.
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
						Remedy: "correct throttle_key_path to the path of the key in the payload, or correct the producer"})
				}
				if route.DueProblem != "" && !named[route.Channel] && notification.PathFlaw(route.SendAtPath) == "" {
					named[route.Channel] = true
					mistakes = append(mistakes, Mistake{Place: routingRules, Row: t.name + "/" + string(route.Channel), Problem: fmt.Sprintf("event %s has no known time: %s", event.ID, route.DueProblem),
						Remedy: "correct send_at_path to the path of the time in the payload, or correct the producer"})
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

// ruleOfNobody describes a row that names nobody.
func ruleOfNobody(rule report.RecipientRule) Mistake {
	mistake := Mistake{Place: recipientRules, Row: ruleKey(rule.EventType, rule.UserType, rule.EntityType, rule.EntityIDPath)}
	if rule.EntityType == notification.EntityCustomer || rule.EntityType == notification.EntityAdmin {
		mistake.Problem = fmt.Sprintf("it tells nobody: %s means people of that type, but the row wants %s", rule.EntityType, rule.UserType)
		mistake.Remedy = "correct user_type, or name your own entity type and write its members into entity_member"
	} else {
		mistake.Problem = "it tells nobody: no active member of any " + rule.EntityType + members(rule)
		mistake.Remedy = "write the members into entity_member, or correct the row"
	}
	return mistake
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

// ruleOverNoChannel describes a row for a user type that no routed channel serves.
func ruleOverNoChannel(rule report.RecipientRule) Mistake {
	return Mistake{Place: recipientRules, Row: ruleKey(rule.EventType, rule.UserType, rule.EntityType, rule.EntityIDPath),
		Problem: fmt.Sprintf("none of the channels that %s is routed over serves %s: every delivery is UNSUPPORTED", rule.EventType, rule.UserType),
		Remedy:  fmt.Sprintf("insert a row into channel_user_type for %s and one of these channels, or route the type over one that serves them", rule.UserType)}
}

// routeOfNobody describes a route for roles that no active member has.
func routeOfNobody(route report.RestrictedRoute) Mistake {
	problem := "no active member of any entity has the role " + strings.Join(route.Vacant, ", ")
	if len(route.Vacant) == 0 {
		problem = "roles is empty, so nobody gets the channel"
	}
	return Mistake{Place: routingRules, Row: route.EventType + "/" + string(route.Channel), Problem: problem, Remedy: "correct roles; NULL allows every role"}
}

// expiredRoute describes a route whose deliveries expire before they are due.
func expiredRoute(r report.Route) (mistake Mistake) {
	if r.ExpiresAfter > 0 && r.ExpiresAfter <= r.Wait {
		mistake = Mistake{Place: routingRules, Row: r.EventType + "/" + string(r.Channel),
			Problem: fmt.Sprintf("its deliveries wait %s and expire after %s: none is ever sent", r.Wait, r.ExpiresAfter),
			Remedy:  "set expires_after to more than delay or digest_window"}
	}
	return mistake
}

// shortLived is the longest expires_after of messages that are worth nothing after quiet hours: codes
// and alarms.
const shortLived = 2 * time.Hour

// silencedRoute describes a mandatory route whose short-lived messages quiet hours drop.
func silencedRoute(r report.Route) (mistake Mistake) {
	if r.Mandatory && r.Channel.Quieted() && r.QuietHoursAction == notification.Drop && r.ExpiresAfter > 0 && r.ExpiresAfter <= shortLived {
		mistake = Mistake{Place: routingRules, Row: r.EventType + "/" + string(r.Channel),
			Problem: fmt.Sprintf("it is mandatory and expires after %s, but quiet hours drop it", r.ExpiresAfter),
			Remedy:  "set quiet_hours_action to IGNORE, if people need it at any hour, such as a code; else make it optional"}
	}
	return mistake
}

// vainCaps finds caps of an unknown category, and caps whose spacing makes at_most unreachable.
func vainCaps(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	found, err := reader.VainCaps(ctx)
	for _, c := range found {
		row := string(c.Channel) + "/" + cmp.Or(c.Category, "every category")
		if c.IsUnknown {
			mistakes = append(mistakes, Mistake{Place: "frequency_cap", Row: row, Problem: "no event type has the category, so it limits nothing",
				Remedy: "correct category, or insert rows into event_category"})
		}
		if c.IsUnmet {
			mistakes = append(mistakes, Mistake{Place: "frequency_cap", Row: row, Problem: "spacing allows fewer messages during per than at_most, so at_most is never reached",
				Remedy: "shorten spacing, or leave out at_most and per"})
		}
	}
	return mistakes, err
}

func vainApproval(eventType string) Mistake {
	return Mistake{Place: "event_type_approval", Row: eventType, Problem: "no channel is routed for the event type, so none of its events waits for approval",
		Remedy: "correct event_type, or insert rows into event_type_channel_routing"}
}

// settingOfNobody describes a setting that allows only roles which no active member has.
func settingOfNobody(s report.RestrictedSetting) Mistake {
	return Mistake{Place: "entity_notification_settings", Row: fmt.Sprintf("%s/%s/%s/%s", s.EntityType, s.EntityID, s.Channel, cmp.Or(s.EventType, "every event type")),
		Problem: "it allows only the roles " + strings.Join(s.Roles, ", ") + ", which no active member of the entity has: nobody gets the channel",
		Remedy:  "correct allowed_roles; NULL allows every role; to switch the channel off, set enabled to false"}
}

// categories finds categories that recipients switched off and that no event type has any more: these
// messages come again. It also finds a category of event type *. A category whose event
// type has no events yet is no mistake.
func categories(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	types, err := reader.Values(ctx, "event_category", "event_type")
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(types, func(v report.ValueCount) bool { return v.Value == "*" }) {
		mistakes = append(mistakes, Mistake{Place: "event_category", Row: "*", Problem: "* is no event type, so this row matches nothing",
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
				Problem: have(value.Count) + " this category, which no event type has, so these recipients get messages that they had switched off",
				Remedy:  "if it has another name now, UPDATE user_category_preferences SET category; if it is gone, delete these rows"})
		}
	}
	return mistakes, err
}

const escalationRules = "event_type_escalation"

// escalations finds rules that cannot work, and channels that wait for an escalation that does not
// exist.
func escalations(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	rules, err := reader.Escalations(ctx)
	if err != nil {
		return nil, err
	}
	routes, err := reader.Routes(ctx)
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		mistakes = append(mistakes, mistakesOf(rule, routes)...)
	}
	for _, route := range routes {
		leadsThere := func(rule report.EscalationRule) bool {
			return rule.EventType == route.EventType && rule.To == route.Channel
		}
		if route.OnEscalationOnly && !slices.ContainsFunc(rules, leadsThere) {
			mistakes = append(mistakes, Mistake{Place: routingRules, Row: route.EventType + "/" + string(route.Channel), Problem: "it is on_escalation_only, and nothing escalates to it: it is never used",
				Remedy: fmt.Sprintf("insert a row into %s, or set on_escalation_only to false", escalationRules)})
		}
	}
	return mistakes, nil
}

// mistakesOf finds the mistakes of one rule.
func mistakesOf(rule report.EscalationRule, routes []report.Route) (mistakes []Mistake) {
	row := rule.EventType + "/" + string(rule.From)
	routed := func(channel notification.Channel) (report.Route, bool) {
		i := slices.IndexFunc(routes, func(r report.Route) bool { return r.EventType == rule.EventType && r.Channel == channel })
		if i < 0 {
			return report.Route{}, false
		}
		return routes[i], true
	}
	for _, channel := range []notification.Channel{rule.From, rule.To} {
		if route, _ := routed(channel); route.Strategy == notification.Aggregate {
			mistakes = append(mistakes, Mistake{Place: escalationRules, Row: row, Problem: fmt.Sprintf("%s is AGGREGATE, but a digest cannot escalate and cannot follow another channel", channel),
				Remedy: fmt.Sprintf("give %s/%s another delivery_strategy in %s, or delete the row", rule.EventType, channel, routingRules)})
		}
	}
	if _, inbox := routed(notification.WebSocket); rule.Until == notification.UntilRead && !inbox {
		mistakes = append(mistakes, Mistake{Place: escalationRules, Row: row, Problem: fmt.Sprintf("it waits until the recipient reads it in the inbox, but %s is not routed over WEBSOCKET, so %s always follows", rule.EventType, rule.To),
			Remedy: "route it over WEBSOCKET too, or wait until DELIVERED, which EMAIL and SMS report"})
	}
	return mistakes
}
