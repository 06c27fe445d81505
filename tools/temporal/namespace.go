package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// retention is the time that closed workflows are kept: on Monday, Friday's are still there.
	retention = 72 * time.Hour

	registerTimeout = 60 * time.Second
	checkTimeout    = 3 * time.Second
)

func clientOptions(s Settings) client.Options {
	return client.Options{HostPort: frontend(s), Namespace: namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
}

// registerNamespace creates the namespace, unless an earlier start did.
func registerNamespace(ctx context.Context, s Settings) error {
	namespaces, err := client.NewNamespaceClient(clientOptions(s))
	if err != nil {
		return err
	}
	defer namespaces.Close()
	err = eventually(ctx, registerTimeout, func(ctx context.Context) error {
		err := namespaces.Register(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace:                        namespace,
			WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		if errors.As(err, new(*serviceerror.NamespaceAlreadyExists)) {
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
	temporal, err := client.DialContext(ctx, clientOptions(s))
	if err != nil {
		return err
	}
	defer temporal.Close()
	if _, err := temporal.CheckHealth(ctx, nil); err != nil {
		return fmt.Errorf("ask %s for its health: %w", frontend(s), err)
	}
	// A list goes through the frontend's cache of namespaces, which may lag.
	if _, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1}); err != nil {
		return fmt.Errorf("list workflows of namespace %s: %w", namespace, err)
	}
	return nil
}
