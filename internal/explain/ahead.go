package explain

import (
	"context"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// ahead says what quiet hours will do to a delivery when its wait ends, by the rules as
// they are now; empty: nothing, or it does not wait for a time of its own.
func (e Explainer) ahead(ctx context.Context, d report.DeliveryDetail, s Sending, now time.Time) (string, error) {
	until := d.SendAfter
	if s.Status == Running {
		until = s.WaitsUntil // an operator may have given it another time
	}
	if until == nil || !now.Before(*until) || s.DigestID != "" || d.Status != notification.Pending || d.Strategy == notification.Aggregate {
		return "", nil
	}
	check, err := e.Store.QuietCheck(ctx, d.DeliveryID)
	if err != nil {
		return "", err
	}
	return check.Ahead(*until, now), nil
}
