package main

import (
	"context"
	"fmt"

	"herald/internal/notification"
	"herald/internal/source"
)

// sourceTables are the tables of other outboxes, each opened when it is first needed.
type sourceTables struct {
	sources map[string]notification.SourceConfig
	opened  map[string]*source.Table
}

// reopen makes the row of an event pending again in its own table.
func (s *sourceTables) reopen(ctx context.Context, name, eventID string) error {
	config, known := s.sources[name]
	if !known {
		return fmt.Errorf("OUTBOX_SOURCES has no source %s here", name)
	}
	table, opened := s.opened[name]
	if !opened {
		var err error
		if table, err = source.Open(ctx, config); err != nil {
			return err
		}
		s.opened[name] = table
	}
	return table.Reopen(ctx, []string{config.Key(eventID)})
}

func (s *sourceTables) close() {
	for _, table := range s.opened {
		table.Close()
	}
}
