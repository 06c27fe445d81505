package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
	"herald/workflows"
)

func TestPriority(t *testing.T) {
	t.Parallel()

	agency := func(id string) notification.Entity { return notification.Entity{Type: "AGENCY", ID: id} }
	tests := []struct {
		name      string
		priority  notification.Priority
		aggregate notification.Entity
		want      temporal.Priority
	}{
		{name: "high", priority: notification.High, aggregate: agency("5"), want: temporal.Priority{PriorityKey: 1, FairnessKey: "AGENCY/5"}},
		{name: "normal", priority: notification.Normal, aggregate: agency("5"), want: temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/5"}},
		{name: "no priority", aggregate: agency("5"), want: temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/5"}},
		{name: "low", priority: notification.Low, aggregate: agency("5"), want: temporal.Priority{PriorityKey: 5, FairnessKey: "AGENCY/5"}},
		{name: "no aggregate", priority: notification.Low, aggregate: notification.Entity{}, want: temporal.Priority{PriorityKey: 5}},
		{name: "name at Temporal's limit", aggregate: agency(strings.Repeat("x", 57)),
			want: temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/" + strings.Repeat("x", 57)}},
		{name: "name above the limit", aggregate: agency(strings.Repeat("x", 58)),
			want: temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/" + strings.Repeat("x", 57)}},
		{name: "cut between characters", aggregate: agency(strings.Repeat("é", 50)),
			want: temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/" + strings.Repeat("é", 28)}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, workflows.Priority(tt.priority, tt.aggregate), tt.name)
	}
}
