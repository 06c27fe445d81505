package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// retention is the time that closed workflows are kept: on Monday, Friday's are still there.
	retention = 72 * time.Hour

	registerTimeout = 60 * time.Second
	checkTimeout    = 3 * time.Second
)

// registerNamespace creates the namespace, unless an earlier start did.
func registerNamespace(ctx context.Context, s Settings) error {
	conn, err := dial(s)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	err = eventually(ctx, registerTimeout, func(ctx context.Context) error {
		_, err := workflowservice.NewWorkflowServiceClient(conn).RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace:                        namespace,
			WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		var exists *serviceerror.NamespaceAlreadyExists
		if errors.As(serviceerror.FromStatus(status.Convert(err)), &exists) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("register namespace %s: %w", namespace, err)
	}
	return nil
}

// ready returns nil if the frontend is healthy and knows the namespace.
func ready(ctx context.Context, s Settings) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := dial(s)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{
		Service: workflowservice.WorkflowService_ServiceDesc.ServiceName,
	})
	if err != nil {
		return fmt.Errorf("ask %s for its health: %w", frontend(s), err)
	}
	if health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s is %s", frontend(s), health.GetStatus())
	}
	// A list goes through the frontend's cache of namespaces, which may lag.
	_, err = workflowservice.NewWorkflowServiceClient(conn).ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: namespace,
		PageSize:  1,
	})
	if err != nil {
		return fmt.Errorf("list workflows of namespace %s: %w", namespace, err)
	}
	return nil
}

func dial(s Settings) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(frontend(s), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", frontend(s), err)
	}
	return conn, nil
}
