package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/report"
)

// SelectDeliveries selects the deliveries that match a filter, in the order of their numbers. The
// selection begins after the number in `after`.
func (o *Operator) SelectDeliveries(ctx context.Context, filter report.DeliveryFilter, after string) (Selection, error) {
	reader := report.Reader{Pool: o.DB.Pool}
	if filter.Until.IsZero() {
		var err error
		if filter.Until, err = o.DB.Now(ctx); err != nil {
			return Selection{}, err
		}
	}
	matched, err := reader.CountDeliveries(ctx, filter)
	page := func(ctx context.Context, after string, limit int) ([]item, error) {
		next := filter
		var err error
		if next.After, err = DeliveryNumber(after); err != nil {
			return nil, err
		}
		rows, err := reader.DeliveryPage(ctx, next, limit)
		items := make([]item, len(rows))
		for i, row := range rows {
			items[i] = item{strconv.FormatInt(int64(row.ID), 10), row.DeliveryID}
		}
		return items, err
	}
	return Selection{Matched: matched, After: after, page: page}, err
}

// DeliveryNumber parses a key of a [Selection] of deliveries. An empty key is 0, which is before
// the first delivery.
func DeliveryNumber(key string) (int64, error) {
	if key == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(key, 10, 64)
	if err != nil || number < 0 {
		return 0, errors.New("must be the number that an earlier call named")
	}
	return number, nil
}

// isSent reports whether a delivery was sent. A sent delivery cannot be changed.
func isSent(state attempt.DeliveryState) bool {
	return state.Status == notification.Sent || state.Status == notification.Delivered
}

const cancelled = "cancelled" // also the last_error of a delivery that an operator cancelled

// unchanged returns the outcome of a delivery that a verb leaves as it is, usually because its
// workflow does not run.
func unchanged(id string, state attempt.DeliveryState) Outcome {
	quoted := advice.Quote(id)
	switch state.Status {
	case notification.Sent, notification.Delivered:
		return Outcome{
			ID: id, Result: "was sent", Detail: clock(state.SentAt) + "; a sent message cannot be recalled",
			Next: "nobody can recall it; `starter delivery show " + quoted + "` shows its receipts",
		}
	case notification.Failed:
		return Outcome{ID: id, Result: "has failed", Detail: state.LastError, Next: "correct the cause, then `starter delivery retry " + quoted + "`"}
	case notification.Cancelled:
		if state.Withdrawn != "" {
			return withdrawn(id, state)
		}
		return Outcome{
			ID: id, Result: "was cancelled", Detail: state.LastError,
			Next: "`starter delivery retry " + quoted + "` sends it after all",
		}
	default:
		return Outcome{
			ID: id, Result: "has no running workflow", Detail: "it has ended, or was not started yet",
			Next: "see its event; when the event has ended, `starter delivery retry " + quoted + "` sends it",
		}
	}
}

// withdrawn returns the outcome of a delivery that another event cancelled or replaced.
func withdrawn(id string, state attempt.DeliveryState) Outcome {
	return Outcome{
		ID: id, Result: "is not to be sent", Detail: "it was " + state.Withdrawn,
		Next: "`starter delivery retry " + advice.Quote(id) + " --again` sends it after all",
	}
}

// toErased returns the outcome of a retry of a delivery to a person who was erased.
func toErased(id string, at *time.Time) Outcome {
	return Outcome{
		ID: id, Result: "is to a person who was erased", Detail: clock(at),
		Next: "they get no more messages; `starter recipient erase --help` explains it",
	}
}

// expired returns the outcome of a retry of an expired delivery.
func expired(id string, state attempt.DeliveryState) Outcome {
	return Outcome{
		ID: id, Result: "has expired", Detail: clock(state.ExpiredAt),
		Next: "`starter delivery retry " + advice.Quote(id) + " --again` sends it late",
	}
}

// underWay returns the outcome of a delivery that a verb does not start, because its workflow runs
// already.
func underWay(id string, state attempt.DeliveryState) Outcome {
	quoted := advice.Quote(id)
	return Outcome{
		ID: id, Result: "is under way", Detail: fmt.Sprintf("its workflow runs; it is %s after %d attempts", state.Status, state.Attempts),
		Next: "`starter delivery why " + quoted + "` explains the wait; `starter delivery send-now " + quoted + "` sends it at once",
	}
}

// howItEnds names the command that shows how a delivery ends.
func howItEnds(id string) string {
	return "`starter delivery show " + advice.Quote(id) + "` shows how it ends"
}

func clock(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return notification.InstantText(*t)
}

// batchOf returns the ID of the batch workflow that sends a delivery without a running workflow;
// empty: no batch sends it.
func (o *Operator) batchOf(ctx context.Context, state attempt.DeliveryState) (string, error) {
	if state.Status != notification.Pending {
		return "", nil
	}
	batch, err := launch.BatchOf(ctx, o.temporal(), state.EventID, state.Channel, state.Number)
	return batch.ID, err
}

// inBatch returns the outcome of a delivery that the verb leaves as it is, because a batch sends it.
func inBatch(id, batch string) Outcome {
	quoted := advice.Quote(id)
	return Outcome{
		ID: id, Result: "is being sent in a batch", Detail: "by the workflow " + batch + ", as soon as it can be",
		Next: "`starter delivery cancel " + quoted + "` still cancels it until it is sent; `starter delivery why " + quoted + "` shows its progress",
	}
}
