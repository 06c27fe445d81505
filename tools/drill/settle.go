package main

import (
	"context"
	"fmt"
	"time"

	"herald/tools/rig"
)

// settle waits until Herald has nothing left to do, and returns the remaining work after the limit.
func (s *stage) settle(ctx context.Context, limit time.Duration) (left string, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = rig.Await(limited, time.Second, func() (bool, error) {
		left, err = s.settled(ctx) // a server may still be starting, so only the last error counts
		return err == nil && left == "", nil
	})
	return left, err
}

// settled reports whether Herald has nothing left to do for the run, or names the remaining work.
func (s *stage) settled(ctx context.Context) (left string, err error) {
	var events, deliveries, receipts, records int
	err = s.DB.QueryRow(ctx, `
		SELECT (SELECT count(*)
		        FROM   drill.orders o
		        LEFT JOIN processed_event p USING (event_id)
		        WHERE  coalesce(p.status, '') NOT IN ('SUCCESS', 'FAILED')),
		       (SELECT count(*) FROM notification WHERE status = 'PENDING'),
		       (SELECT count(*) FROM notification WHERE status = 'SENT' AND channel = 'EMAIL'),
		       (SELECT count(*) FROM lifecycle_event WHERE NOT sent)`).Scan(&events, &deliveries, &receipts, &records)
	if err != nil {
		return "", err
	}
	open, err := s.open(ctx)
	if err != nil || events+deliveries+receipts+records+len(open) == 0 {
		return "", err
	}
	return fmt.Sprintf("%d events, %d deliveries, %d receipts, %d records for Kafka, %d workflows",
		events, deliveries, receipts, records, len(open)), nil
}

// open returns the ids of the open workflows of the run's events.
func (s *stage) open(ctx context.Context) (ids []string, err error) {
	query := fmt.Sprintf("ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '%s'", s.events())
	open, err := rig.Workflows(ctx, s.Temporal, query)
	for _, workflow := range open {
		ids = append(ids, workflow.GetExecution().GetWorkflowId())
	}
	return ids, err
}
