package launch

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

// RegisterSearchAttributes adds Herald's search attributes to Temporal and waits
// until they can be used, since Temporal refuses to start a workflow with an unknown
// one. A repetition changes nothing. Where the server does not let us add them, as
// on Temporal Cloud, somebody must have added them before.
func RegisterSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
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
	// The server leaves those that it knows as they are. An error may mean that another
	// worker is adding them at the same time, so the loop asks whether they are there.
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

// MissingSearchAttributes returns those of Herald's that a query cannot name.
func MissingSearchAttributes(ctx context.Context, temporal client.Client, namespace string) ([]string, error) {
	var missing []string
	for _, name := range workflows.SearchAttributes() {
		_, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: name + `="?"`})
		var unknown *serviceerror.InvalidArgument
		switch {
		case errors.As(err, &unknown):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("look for search attribute %s: %w", name, err)
		}
	}
	return missing, nil
}

// usable asks with a query that names all search attributes: their list shows an
// addition before the servers act on it.
func usable(ctx context.Context, temporal client.Client, namespace string) error {
	var conditions []string
	for _, name := range workflows.SearchAttributes() {
		conditions = append(conditions, name+`="?"`)
	}
	_, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: strings.Join(conditions, " AND ")})
	return err
}
