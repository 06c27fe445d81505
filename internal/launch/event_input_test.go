package launch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/workflows"
)

// The workflow of an event knows nothing of topics.
func TestStartEventOfASource(t *testing.T) {
	t.Parallel()

	kafka := &outboxes.KafkaRoute{Topic: "events"}
	tests := []struct {
		name   string
		source string
		config outboxes.Source
		want   workflows.NotifyInput
	}{
		{"Herald's own", "herald", outboxes.Source{}, workflows.NotifyInput{Source: "herald", Publish: true}},
		{"Herald's own, of a history of before", "", outboxes.Source{}, workflows.NotifyInput{Publish: true}},
		{"Herald's own with a topic", "", outboxes.Source{Name: "herald", Kafka: kafka}, workflows.NotifyInput{Publish: true}},
		{"only people", "orders", outboxes.Source{Name: "orders", People: true}, workflows.NotifyInput{Source: "orders", Publish: true}},
		{"both", "orders", outboxes.Source{Name: "orders", Kafka: kafka, People: true}, workflows.NotifyInput{Source: "orders", Publish: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tt.want.EventID, tt.want.Commands = "evt-1", workflows.Commands
			tt.config.Retries, tt.config.RetryInterval = 5, time.Second
			server := mocks.NewClient(t)
			server.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.MatchedBy(isNotifyEvent), tt.want).Return(nil, nil).Once()
			launcher := launch.Launcher{Client: server, Prefix: "herald", PublishEvents: true}
			if tt.config.Name != "" {
				launcher.Sources = map[string]outboxes.Source{tt.config.Name: tt.config}
			}

			require.NoError(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1", Source: tt.source, Type: "T"}))
		})
	}
}

// A process that was not told of a source starts nothing of it: it would not know how.
func TestStartEventOfAnUnknownSource(t *testing.T) {
	t.Parallel()

	launcher := launch.Launcher{Client: mocks.NewClient(t), Prefix: "herald", Sources: sources}
	err := launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1", Source: "wallet", Type: "T"})
	require.ErrorContains(t, err, "wallet")
	require.ErrorContains(t, err, "OUTBOX_SOURCES")
}

// An event that an earlier release kept of a source without people is not told.
func TestStartEventOfASourceWithoutPeople(t *testing.T) {
	t.Parallel()

	launcher := launch.Launcher{Client: mocks.NewClient(t), Prefix: "herald", Sources: map[string]outboxes.Source{"wallet": {Name: "wallet"}}}
	require.ErrorContains(t, launcher.StartEvent(t.Context(), notification.PendingEvent{ID: "evt-1", Source: "wallet", Type: "T"}), "tells no people")
}

// An aggregate of another outbox may be missing, or longer than Temporal takes.
func TestStartEventWithAnyAggregate(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("é", 127)
	tests := []struct {
		name     string
		event    notification.PendingEvent
		found    int // by how many search attributes
		summary  string
		summaryN int
	}{
		{"none", notification.PendingEvent{Type: "FundsAdded"}, 1, "FundsAdded", 10},
		{"no id", notification.PendingEvent{Type: "FundsAdded", AggregateType: "CUSTOMER"}, 1, "FundsAdded", 10},
		{"both", notification.PendingEvent{Type: "FundsAdded", AggregateType: "CUSTOMER", AggregateID: "5"}, 2, "FundsAdded of CUSTOMER/5", 24},
		{"long", notification.PendingEvent{Type: long, AggregateType: long, AggregateID: long}, 1, long, 300},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tt.event.ID, tt.event.Source = "evt-1", "orders"
			server := mocks.NewClient(t)
			server.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
				return o.TypedSearchAttributes.Size() == tt.found && strings.HasPrefix(o.StaticSummary, tt.summary) && len(o.StaticSummary) <= tt.summaryN
			}), mock.Anything, mock.Anything).Return(nil, nil).Once()
			launcher := launch.Launcher{Client: server, Prefix: "herald", Sources: sources}

			require.NoError(t, launcher.StartEvent(t.Context(), tt.event))
		})
	}
}
