package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"

	"herald/workflows"
)

// registerSearchAttributes makes Temporal know Herald's search attributes, and
// waits until it does: a workflow that is started with an unknown one is
// refused. Doing it again changes nothing. Where the server does not let us, as
// on Temporal Cloud, they must have been added before.
func registerSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	missing, err := missingAttributes(ctx, temporal, namespace)
	if err != nil || len(missing) == 0 {
		return err
	}
	add := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: map[string]enums.IndexedValueType{}}
	for _, name := range missing {
		add.SearchAttributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	// Another worker may be adding them at the same time; what counts is that they are there in the end.
	_, addErr := temporal.OperatorService().AddSearchAttributes(ctx, add)
	for {
		missing, err = missingAttributes(ctx, temporal, namespace)
		if err == nil && len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("search attributes %s are missing in namespace %s; add them as keywords: %w", strings.Join(missing, ", "), namespace, cmpErr(addErr, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// cmpErr is the first error that there is.
func cmpErr(errs ...error) error {
	return errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
}

func missingAttributes(ctx context.Context, temporal client.Client, namespace string) ([]string, error) {
	known, err := temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes: %w", err)
	}
	return slices.DeleteFunc(workflows.SearchAttributes(), func(name string) bool {
		_, ok := known.CustomAttributes[name]
		return ok
	}), nil
}
