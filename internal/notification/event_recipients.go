package notification

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// maxEntityID is the limit in bytes. An entity's id is a key, not a text.
const maxEntityID = 64

// Target is a query to the directory.
type Target struct {
	UserType UserType // empty: any
	Entity   Entity
	Roles    []string // nil: any
}

// EventRecipients is a row of event_type_recipients for one event type.
type EventRecipients struct {
	UserType     UserType // empty: any
	Audience     string   // of the user type; empty: any
	EntityType   string
	EntityIDPath string   // the path of the entity id in the payload: customer.id; several: restaurantId,@aggregate
	Roles        []string // nil: any
}

// everyone reports whether the row names all recipients of a kind. Such a row needs no entity id.
func (r EventRecipients) everyone() bool {
	return r.EntityType == EntityAdmin || r.EntityType == EntityBroadcast
}

// Targets returns the recipients of an event. The rows of its type decide; without rows, its
// aggregate decides. The problems explain which rows name nobody. They contain paths and types,
// and nothing of the payload.
func Targets(event Event, rows []EventRecipients) (targets []Target, problems []string) {
	if len(rows) == 0 {
		target, err := aggregateTarget(event)
		if err != nil {
			return nil, []string{err.Error()}
		}
		return []Target{target}, nil
	}
	payload, _ := DecodePayload(event.Payload)
	for _, row := range rows {
		target, err := row.target(event, payload)
		switch {
		case err != nil && !slices.Contains(problems, err.Error()):
			problems = append(problems, err.Error())
		case err == nil && !slices.ContainsFunc(targets, func(t Target) bool { return reflect.DeepEqual(t, target) }):
			targets = append(targets, target)
		}
	}
	return targets, problems
}

// aggregateTarget returns the target of an event whose type has no rows in event_type_recipients.
func aggregateTarget(event Event) (Target, error) {
	target := Target{Entity: Entity{Type: event.AggregateType, ID: event.AggregateID}}
	switch event.AggregateType {
	case EntityRestaurant:
	case EntityAgency:
		target.Roles = []string{"AGENT", "MANAGER"}
	case EntityCustomer:
		target.UserType = Customer
	case EntityAdmin:
		target.UserType, target.Entity.ID = Admin, "0"
	case EntityBroadcast:
		target.Entity.ID = "0"
	default:
		return Target{}, fmt.Errorf("aggregate type %s has no default recipients, and event type %s has no rows in event_type_recipients",
			event.AggregateType, event.Type)
	}
	return target, checkEntityID(target.Entity.ID, "aggregate_id")
}

func (r EventRecipients) target(event Event, payload any) (Target, error) {
	target := Target{UserType: r.UserType, Entity: Entity{Type: r.EntityType, ID: "0"}, Roles: r.Roles}
	if r.everyone() {
		return target, nil
	}
	if r.EntityIDPath == "" {
		return Target{}, fmt.Errorf("a row of event_type_recipients for %s has no entity_id_path", r.EntityType)
	}
	paths := splitPaths(r.EntityIDPath)
	for _, path := range paths {
		if id, found := r.idAt(path, event, payload); found {
			target.Entity.ID = id
			return target, checkEntityID(id, path)
		}
	}
	return Target{}, r.nothingAt(paths)
}

// aggregatePath means the event's aggregate_id.
const aggregatePath = "@aggregate"

func (r EventRecipients) idAt(path string, event Event, payload any) (id string, found bool) {
	if path == aggregatePath {
		return event.AggregateID, event.AggregateType == r.EntityType
	}
	return entityID(payload, path)
}

func (r EventRecipients) nothingAt(paths []string) error {
	if len(paths) > 1 {
		return fmt.Errorf("the event has none of %s for %s", strings.Join(paths, ", "), r.EntityType)
	}
	if paths[0] == aggregatePath {
		return fmt.Errorf("the aggregate is not of type %s", r.EntityType)
	}
	return fmt.Errorf("%s is not in the payload", paths[0])
}

// checkEntityID returns errors that name the place of an id, not the id.
func checkEntityID(id, place string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s is empty", place)
	case len(id) > maxEntityID:
		return fmt.Errorf("%s is longer than %d bytes", place, maxEntityID)
	default:
		return nil
	}
}
