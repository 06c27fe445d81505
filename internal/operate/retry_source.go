package operate

import (
	"context"
	"slices"

	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
)

// RetriedRows is the result of a retry of a source's failed rows.
type RetriedRows struct {
	Source  string   `json:"source"`
	Matched int      `json:"matched"` // rows that have failed
	Retried int      `json:"retried"`
	Skipped []string `json:"skipped"` // named keys whose rows have not failed
}

// retryPage is the number of rows that one step retries.
const retryPage = 500

// RetrySource retries the failed rows of a source: the rows with the keys, or all if there are no
// keys. It first marks the rows as pending in their table, and then deletes Herald's record of
// them. If it is interrupted between the two steps, the walk retries the rows as well.
func (o *Operator) RetrySource(ctx context.Context, source outboxes.Source, keys []string, dryRun bool) (RetriedRows, error) {
	result := RetriedRows{Source: source.Name, Skipped: slices.Clone(keys)}
	table, err := dialects.Open(ctx, source)
	if err != nil {
		return result, err
	}
	defer table.Close()
	for after := ""; ; {
		failed, err := o.Store.FailedRows(ctx, source.Name, keys, after, retryPage)
		if err != nil || len(failed) == 0 {
			return result, err
		}
		result.Matched += len(failed)
		result.Skipped = slices.DeleteFunc(result.Skipped, func(key string) bool { return slices.Contains(failed, key) })
		after = failed[len(failed)-1]
		if dryRun {
			continue
		}
		if err := o.retryRows(ctx, source, table, failed); err != nil {
			return result, ofSource(err, seeCheck(source))
		}
		result.Retried += len(failed)
	}
}

func (o *Operator) retryRows(ctx context.Context, source outboxes.Source, table *dialects.Table, keys []string) error {
	targets := make([]string, len(keys))
	for i, key := range keys {
		targets[i] = source.EventID(key)
	}
	if err := o.Record(ctx, "source "+source.Name, targets...); err != nil {
		return err
	}
	if err := table.Reopen(ctx, keys); err != nil {
		return err
	}
	return o.Store.ForgetRows(ctx, source.Name, keys)
}
