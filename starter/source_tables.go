package main

import (
	"context"
	"fmt"
	"sync"

	"herald/internal/notification"
	"herald/internal/source"
)

// sourceTables are the tables of other outboxes, each opened when it is first needed. It
// is safe for concurrent use: many events are changed at once.
type sourceTables struct {
	sources map[string]notification.SourceConfig

	mu     sync.Mutex
	opened map[string]*source.Table
}

func newSourceTables(sources map[string]notification.SourceConfig) *sourceTables {
	return &sourceTables{sources: sources, opened: map[string]*source.Table{}}
}

// reopen makes the row of an event pending again in its own table.
func (s *sourceTables) reopen(ctx context.Context, name, eventID string) error {
	config, known := s.sources[name]
	if !known {
		return fmt.Errorf("OUTBOX_SOURCES has no source %s here", name)
	}
	table, err := s.table(ctx, config)
	if err != nil {
		return err
	}
	return table.Reopen(ctx, []string{config.Key(eventID)})
}

func (s *sourceTables) table(ctx context.Context, config notification.SourceConfig) (*source.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if table, opened := s.opened[config.Name]; opened {
		return table, nil
	}
	table, err := source.Open(ctx, config)
	if err == nil {
		s.opened[config.Name] = table
	}
	return table, err
}

func (s *sourceTables) close() {
	for _, table := range s.opened {
		table.Close()
	}
}
