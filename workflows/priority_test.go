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
		{"high", notification.High, agency("5"), temporal.Priority{PriorityKey: 1, FairnessKey: "AGENCY/5"}},
		{"normal", notification.Normal, agency("5"), temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/5"}},
		{"none given", "", agency("5"), temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/5"}},
		{"low", notification.Low, agency("5"), temporal.Priority{PriorityKey: 5, FairnessKey: "AGENCY/5"}},
		{"no aggregate", notification.Low, notification.Entity{}, temporal.Priority{PriorityKey: 5}},
		{"as long as Temporal takes", "", agency(strings.Repeat("x", 57)), temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/" + strings.Repeat("x", 57)}},
		{"longer", "", agency(strings.Repeat("x", 58)), temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/" + strings.Repeat("x", 57)}},
		{"cut between letters", "", agency(strings.Repeat("é", 50)), temporal.Priority{PriorityKey: 3, FairnessKey: "AGENCY/" + strings.Repeat("é", 28)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, workflows.Priority(tt.priority, tt.aggregate))
		})
	}
}
