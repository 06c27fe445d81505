package check

import (
	"context"
	"fmt"
	"slices"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

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
			mistakes = append(mistakes, Mistake{Place: escalationRules, Row: row, Problem: fmt.Sprintf("%s is AGGREGATE, and a digest neither escalates nor follows", channel),
				Remedy: fmt.Sprintf("give %s/%s another delivery_strategy in %s, or delete the row", rule.EventType, channel, routingRules)})
		}
	}
	if _, inbox := routed(notification.WebSocket); rule.Until == notification.UntilRead && !inbox {
		mistakes = append(mistakes, Mistake{Place: escalationRules, Row: row, Problem: fmt.Sprintf("it waits until somebody has read it, which only the inbox can tell, and %s is not routed over WEBSOCKET: %s follows always", rule.EventType, rule.To),
			Remedy: "route it over WEBSOCKET too, or wait until DELIVERED, which EMAIL and SMS can tell"})
	}
	return mistakes
}
