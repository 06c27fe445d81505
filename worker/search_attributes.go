package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/workflows"
)

// registerSearchAttributes makes Temporal know Herald's search attributes, and
// waits until they can be used: a workflow that is started with an unknown one
// is refused. Doing it again changes nothing. Where the server does not let us
// add them, as on Temporal Cloud, they must have been added before.
func registerSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := usable(ctx, temporal, namespace)
	var unknown *serviceerror.InvalidArgument
	if !errors.As(err, &unknown) {
		return err
	}
	add := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: map[string]enums.IndexedValueType{}}
	for _, name := range workflows.SearchAttributes() {
		add.SearchAttributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	// Those that are known already are left as they are. Another worker may be
	// adding them at the same time; what counts is that they are there in the end.
	_, addErr := temporal.OperatorService().AddSearchAttributes(ctx, add)
	for err != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("add the keyword search attributes %s to namespace %s: %w", strings.Join(workflows.SearchAttributes(), ", "), namespace, cmp.Or(addErr, err))
		case <-time.After(200 * time.Millisecond):
			err = usable(ctx, temporal, namespace)
		}
	}
	return nil
}

// usable asks with a query that names all search attributes, since the list of
// them tells of an addition before the servers act on it.
func usable(ctx context.Context, temporal client.Client, namespace string) error {
	var conditions []string
	for _, name := range workflows.SearchAttributes() {
		conditions = append(conditions, name+`="?"`)
	}
	_, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: strings.Join(conditions, " AND ")})
	return err
}
