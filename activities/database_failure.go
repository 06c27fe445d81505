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

// valueMarks are the beginnings of driver errors that quote a value.
var valueMarks = []string{"failed to encode args", "can't scan into dest", "cannot scan"}

// driverWords stand between the statement's name and the database's error if the statement is part
// of a batch.
const driverWords = "error preprocessing batch (prepare): "

// WithoutValues returns an interceptor for all errors of activities. It keeps values of rows out of
// histories and logs: an error text of the database may quote an address or a name.
func WithoutValues() interceptor.WorkerInterceptor { return &withoutValues{} }

type withoutValues struct {
	interceptor.WorkerInterceptorBase
}

func (*withoutValues) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
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
// schema: "save plan: SQLSTATE 23503: constraint c of table t". It does not change other errors.
// Temporal retries both.
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
