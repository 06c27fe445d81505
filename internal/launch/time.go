package launch

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Time is a time that Temporal tells; nil where it has none.
func Time(t *timestamppb.Timestamp) *time.Time {
	if t == nil || t.AsTime().IsZero() {
		return nil
	}
	at := t.AsTime()
	return &at
}
