package check

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"herald/internal/contract"
	"herald/internal/db"
	"herald/internal/notification"
)

// typeSchema is a row of event_type_schema.
type typeSchema struct {
	EventType     string
	PayloadSchema string
}

func (s *survey) schemas(ctx context.Context) ([]typeSchema, error) {
	const query = "SELECT event_type, payload_schema::text AS payload_schema FROM event_type_schema ORDER BY event_type LIMIT $1"

	return db.Collect(ctx, s.db.Pool, "read the schemas of payloads", pgx.RowToStructByName[typeSchema], query, mostRows)
}

// uncompiled finds a schema that does not compile.
func uncompiled(row typeSchema) []args {
	if _, err := contract.Compile([]byte(row.PayloadSchema)); err != nil {
		return []args{{"type": row.EventType, "why": err.Error()}}
	}
	return nil
}

// refusedPayloads finds types whose schema refuses some of the last events.
func (s *survey) refusedPayloads(ctx context.Context) (found []args, err error) {
	types, err := s.types(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.schemas(ctx)
	if err != nil {
		return nil, err
	}
	compiled := map[string]*contract.Schema{}
	for _, row := range rows {
		if schema, err := contract.Compile([]byte(row.PayloadSchema)); err == nil { // uncompiled reports the others
			compiled[row.EventType] = schema
		}
	}
	for _, recent := range types {
		if schema := compiled[recent.name]; schema != nil {
			found = append(found, refused(recent.name, schema, recent.events)...)
		}
		if err := ctx.Err(); err != nil {
			return found, err
		}
	}
	return found, nil
}

// refused counts the events of a type that its schema refuses, and names the newest.
func refused(eventType string, schema *contract.Schema, events []notification.Event) []args {
	var first args
	count := 0
	for _, event := range events {
		mistakes := schema.Mistakes(event.Payload)
		if len(mistakes) == 0 {
			continue
		}
		if count++; first == nil {
			why := mistakes[0]
			if why.Path != "" {
				why.Path = shown(why.Path)
			}
			first = args{"type": eventType, "event": event.ID, "why": "payload " + why.String(), "all": strconv.Itoa(len(events))}
		}
	}
	if first == nil {
		return nil
	}
	first["events"] = strconv.Itoa(count)
	return []args{first}
}
