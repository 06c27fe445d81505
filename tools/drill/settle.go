package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
)

// settle waits until Herald has nothing left to do, and returns the remaining work after the limit.
func (s *stage) settle(ctx context.Context, limit time.Duration) (left string, err error) {
	end := time.Now().Add(limit)
	for {
		left, err = s.settled(ctx)
		if err == nil && left == "" || !time.Now().Before(end) {
			return left, err
		}
		if !sleep(ctx, time.Second) {
			return left, nil
		}
	}
}

// settled reports whether Herald has nothing left to do for the run, or names the remaining work.
func (s *stage) settled(ctx context.Context) (left string, err error) {
	var events, deliveries, receipts, records int
	err = s.DB.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM drill.orders o LEFT JOIN processed_event p USING (event_id) WHERE p.status IS DISTINCT FROM 'SUCCESS' AND p.status IS DISTINCT FROM 'FAILED'),
		       (SELECT count(*) FROM notification WHERE status = 'PENDING'),
		       (SELECT count(*) FROM notification WHERE status = 'SENT' AND channel = 'EMAIL')`).Scan(&events, &deliveries, &receipts)
	if err == nil && s.hasTopic {
		err = s.DB.QueryRow(ctx, "SELECT count(*) FROM lifecycle_event WHERE NOT sent").Scan(&records)
	}
	if err != nil {
		return "", err
	}
	open, err := s.open(ctx)
	if err != nil || events+deliveries+receipts+records+len(open) == 0 {
		return "", err
	}
	return fmt.Sprintf("%d events, %d deliveries, %d receipts, %d records for Kafka, %d workflows", events, deliveries, receipts, records, len(open)), nil
}

// open returns the ids of the open workflows of the run's events.
func (s *stage) open(ctx context.Context) (ids []string, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '%s'", s.events())}
	for {
		answer, err := s.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, execution := range answer.GetExecutions() {
			ids = append(ids, execution.GetExecution().GetWorkflowId())
		}
		if request.NextPageToken = answer.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return ids, nil
		}
	}
}
