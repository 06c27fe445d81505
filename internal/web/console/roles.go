package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Role allows actions. Every role allows viewing.
type Role string

// The roles of CONSOLE_ROLES.
const (
	Viewer   Role = "viewer"   // sees all pages
	OnCall   Role = "operator" // changes deliveries and events
	Approver Role = "approver" // answers events that wait for approval
	Editor   Role = "editor"   // tries texts and rules with data that they write
)

var allRoles = []Role{Viewer, OnCall, Approver, Editor}

// everybody is the group of all people who are signed in.
const everybody = "*"

// Roles are the groups of each role.
type Roles map[Role][]string

// ParseRoles reads CONSOLE_ROLES, such as viewer=*,operator=oncall+sre.
func ParseRoles(text string) (Roles, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	roles := Roles{}
	for part := range strings.SplitSeq(text, ",") {
		name, groups, found := strings.Cut(part, "=")
		role := Role(strings.TrimSpace(name))
		switch {
		case !slices.Contains(allRoles, role):
			return nil, fmt.Errorf("CONSOLE_ROLES: %q is no role: write viewer, operator, approver or editor, such as "+
				"viewer=*,operator=oncall+sre", role)
		case !found:
			return nil, fmt.Errorf("CONSOLE_ROLES: the role %s has no groups: write %s=group", role, role)
		case roles[role] != nil:
			return nil, fmt.Errorf("CONSOLE_ROLES has the role %s twice: join its groups with +", role)
		}
		for group := range strings.SplitSeq(groups, "+") {
			group = strings.TrimSpace(group)
			if group == "" {
				return nil, fmt.Errorf("CONSOLE_ROLES: the role %s has an empty group: write %s=group, or %s=* for everybody", role, role, role)
			}
			roles[role] = append(roles[role], group)
		}
	}
	return roles, nil
}

// of returns the roles of a person with these groups.
func (r Roles) of(groups []string) []Role {
	var roles []Role
	for _, role := range allRoles {
		named := func(group string) bool { return group == everybody || slices.Contains(groups, group) }
		if slices.ContainsFunc(r[role], named) {
			roles = append(roles, role)
		}
	}
	return roles
}

// needed says which roles allow an action, and who has them.
func (r Roles) needed(allowed []Role) string {
	var words []string
	for _, role := range allowed {
		switch groups := r[role]; {
		case slices.Contains(groups, everybody):
			words = append(words, string(role)+" (everybody)")
		case len(groups) == 0:
			words = append(words, string(role)+" (no group has it)")
		case len(groups) == 1:
			words = append(words, string(role)+" (group "+groups[0]+")")
		default:
			words = append(words, string(role)+" (groups "+strings.Join(groups, ", ")+")")
		}
	}
	return "You need the role " + strings.Join(words, " or ") + "."
}

// ownPayload is the preview of a text with a payload that the person wrote.
const ownPayload = "template preview"

// allowing maps each action to the roles that allow it: a page by its pattern, and a change by the
// command of starter. An action that is not listed is allowed to nobody.
var allowing = map[string][]Role{
	"GET /{$}":        allRoles,
	"GET /events":     allRoles,
	"GET /event":      allRoles,
	"GET /deliveries": allRoles,
	"GET /delivery":   allRoles,
	"GET /why":        allRoles,
	"GET /recipient":  allRoles,
	"GET /rules":      allRoles,
	"GET /templates":  allRoles,
	"GET /check":      allRoles,
	"POST /check":     allRoles,
	"GET /audit":      allRoles,
	"GET /search":     allRoles,
	"POST /search":    allRoles,
	"POST /change":    allRoles, // each change has its own roles
	"/":               allRoles,
	"/codec/":         allRoles,

	"GET /simulation": {Approver, Editor}, // it shows texts, as a preview does
	"POST /templates": {Approver, Editor},
	ownPayload:        {Editor},

	"delivery cancel":     {OnCall},
	"delivery send-now":   {OnCall},
	"delivery retry":      {OnCall},
	"delivery reschedule": {OnCall},
	"event cancel":        {OnCall},
	"event retry":         {OnCall},
	"event approve":       {Approver},
	"event reject":        {Approver},
}

// person is somebody who is signed in.
type person struct {
	Name   string
	Groups []string // as the proxy names them
	Roles  []Role
	known  Roles // of the console
}

// may reports whether the person may take an action.
func (p person) may(action string) bool {
	return slices.ContainsFunc(allowing[action], func(role Role) bool { return slices.Contains(p.Roles, role) })
}

// denied says why the person may not take an action; empty: they may.
func (p person) denied(action string) string {
	if p.may(action) {
		return ""
	}
	return p.known.needed(allowing[action])
}

// maxShownGroups limits the groups that a refusal repeats.
const maxShownGroups = 20

// refusal returns the refusal of an action; nil: the person may take it.
func (p person) refusal(action string) error {
	text := p.denied(action)
	if text == "" {
		return nil
	}
	groups := "no groups of yours"
	if n := len(p.Groups); n > 0 {
		groups = "these groups of yours: " + strings.Join(p.Groups[:min(n, maxShownGroups)], ", ")
	}
	if len(p.Roles) == 0 {
		text = "You have no role in this console, so you see nothing. " + text
	}
	return &refusal{http.StatusForbidden, text + " The proxy names " + groups + ". Ask the people who run Herald for a role."}
}

// RoleNames names the roles.
func (p person) RoleNames() string {
	switch len(p.Roles) {
	case 0:
		return "no role"
	case len(allRoles):
		return "all roles"
	}
	names := make([]string, len(p.Roles))
	for i, role := range p.Roles {
		names[i] = string(role)
	}
	return strings.Join(names, ", ")
}

type personKey struct{}

func personOf(ctx context.Context) person {
	p, _ := ctx.Value(personKey{}).(person)
	return p
}

// actorOf returns the name of the person for the audit.
func actorOf(ctx context.Context) string { return personOf(ctx).Name }
