package operate

import (
	"context"
	"slices"

	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
)

// RetriedRows says what became of the failed rows of a source.
type RetriedRows struct {
	Source  string   `json:"source"`
	Matched int      `json:"matched"` // rows that have failed
	Retried int      `json:"retried"`
	Skipped []string `json:"skipped"` // keys that were named and have not failed
}

// retryPage is the number of rows that are begun again at once.
const retryPage = 500

// RetrySource begins the failed rows of a source again: those with the keys, or without keys
// all of them. Their own table has them as pending first. Where this ends between the two
// steps, the walk begins them again as well.
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
