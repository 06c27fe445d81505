package activities

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
)

// DatabaseFailed is the type of failure of a statement that the database refused.
const DatabaseFailed = "DatabaseFailed"

// valueMarks begin the errors in which the driver quotes a value that it could not
// encode or read.
var valueMarks = []string{"failed to encode args", "can't scan into dest", "cannot scan"}

// driverWords are the words between the statement's name and the database's error if the
// statement is part of a batch.
const driverWords = "error preprocessing batch (prepare): "

// WithoutValues returns an interceptor that keeps the values of rows out of
// histories and logs: the database's error texts may quote an address or a name. It
// sees each error that an activity returns.
func WithoutValues() interceptor.WorkerInterceptor { return &withoutValues{} }

type withoutValues struct {
	interceptor.WorkerInterceptorBase
}

func (*withoutValues) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &activityWithoutValues{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type activityWithoutValues struct {
	interceptor.ActivityInboundInterceptorBase
}

func (a *activityWithoutValues) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := a.Next.ExecuteActivity(ctx, in)
	return result, Unquoted(err)
}

// Unquoted replaces a failure of the database by its statement, its SQLSTATE and the part of the
// schema, as in "save plan: SQLSTATE 23503: constraint c of table t". It
// returns any other error as it is. Temporal retries both.
func Unquoted(err error) error {
	if _, decided := errors.AsType[*temporal.ApplicationError](err); decided || err == nil {
		return err
	}
	text := err.Error()
	var refused interface {
		error
		SQLState() string
	}
	if errors.As(err, &refused) {
		statement, _, _ := strings.Cut(text, refused.Error())
		statement = strings.TrimSuffix(statement, driverWords)
		return temporal.NewApplicationError(statement+"SQLSTATE "+refused.SQLState()+schemaOf(err), DatabaseFailed)
	}
	for _, mark := range valueMarks {
		if statement, _, quoted := strings.Cut(text, mark); quoted {
			return temporal.NewApplicationError(statement+"a value has another type than expected", DatabaseFailed)
		}
	}
	return err
}

// schemaOf returns ": constraint c of table t" if the error names them, or "". The store adds
// names only if they hold no value of a row.
func schemaOf(err error) string {
	var named interface {
		error
		Schema() string
	}
	if errors.As(err, &named) {
		return ": " + named.Schema()
	}
	return ""
}
