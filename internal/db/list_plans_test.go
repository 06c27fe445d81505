package db_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// listPlan is a page of a list, and the index that leads to its rows.
type listPlan struct {
	name, index string
	read        func(context.Context, list.Reader) error
}

// Each list reads by an index with each of its filters: the rows that match, or a part of the list.
func TestListsByIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	fillAllTables(t, s)
	postgrestest.Exec(t, s, `
		UPDATE event_outbox SET status = 'PROCESSED', published_at = now() WHERE status <> 'PROCESSED' AND seq % 5000 > 2`)
	postgrestest.Exec(t, s, "VACUUM ANALYZE")
	listening, asked := roomtest.Heard(t, s)
	for _, tt := range listPlans() {
		asked.All = nil
		require.NoError(t, tt.read(t.Context(), list.Reader{Pool: listening.Pool, Searched: 1000}), tt.name)
		for _, statement := range asked.All {
			nodes, text := planOf(t, s, statement)
			for _, node := range nodes {
				assert.False(t, node.Type == "Seq Scan" && node.Relation != "user_type", "%s: %s", tt.name, text)
			}
		}
		assert.Contains(t, indexesOf(t, s, asked.All[len(asked.All)-1:]), tt.index, tt.name)
	}
}

// listPlans returns a page of each list for each single filter, with the index of its plan.
func listPlans() []listPlan {
	old, week := time.Now().Add(-13*24*time.Hour), time.Now().Add(-7*24*time.Hour)
	who := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "7"}
	sent := []notification.Status{notification.Sent}
	const outcome = notification.NoRecipients
	return slices.Concat(
		plansOf(list.Reader.Events, []string{"", "e207"}, map[string][]list.EventFilter{
			"event_outbox_latest": {
				{}, {Since: week}, {Type: "T"}, {Source: "orders"}, {Status: notification.OutboxProcessed}, {Aggregate: roomtest.Restaurant5},
			},
			"event_outbox_correlation_id": {{CorrelationID: "c100"}},
			"event_outbox_claim":          {{Status: notification.OutboxPending}},
			"event_outbox_failed_id":      {{Status: notification.OutboxFailed}},
			"processed_event_outcome_at": {
				{Outcome: outcome}, {Outcome: outcome, Since: week}, {Outcome: outcome, Type: "T"}, {Outcome: outcome, Source: "orders"},
				{Outcome: outcome, Status: notification.OutboxProcessed}, {Outcome: outcome, Aggregate: roomtest.Restaurant5},
			},
		}),
		plansOf(list.Reader.Events, []string{""}, map[string][]list.EventFilter{
			"event_outbox_correlation_id": {{Outcome: outcome, CorrelationID: "c100"}},
		}),
		plansOf(list.Reader.Deliveries, []string{"", "5000"}, map[string][]list.DeliveryFilter{
			"notification_pkey": {
				{}, {Statuses: sent}, {Channels: []notification.Channel{notification.Email}}, {EventType: "T"},
				{Entity: roomtest.Restaurant5}, {Since: old}, {Until: week},
			},
			"notification_unsent":         {{Statuses: []notification.Status{notification.Failed}}},
			"notification_correlation_id": {{CorrelationID: "c100"}},
			"notification_of_user":        {{UserType: who.UserType, UserID: who.UserID}},
		}),
		plansOf(list.Reader.Deliveries, []string{"", "d207"}, map[string][]list.DeliveryFilter{
			"notification_once": {{EventID: "e207"}, {EventID: "e207", Statuses: sent}},
		}),
		plansOf(list.Reader.Actions, []string{"", "2000"}, map[string][]list.ActionFilter{
			"operator_action_pkey":   {{}, {Actor: "ada"}, {Command: "retry"}, {Since: old}},
			"operator_action_target": {{Target: "e7"}},
		}),
		plansOf(limited(list.Reader.Suppressions), []string{""}, map[string][]list.SuppressionFilter{
			"recipient_suppression_since": {{}, {Channel: notification.Email}, {Reason: notification.SuppressedBounce}, {Since: week}},
			"recipient_suppression_pkey":  {{Channel: notification.Email, AddressHashes: [][]byte{roomtest.Hashed("7")}}},
		}),
		plansOf(limited(list.Reader.RecipientDecisions), []string{""}, map[string][]list.RecipientFilter{
			"notification_decision_recipient": {
				{RecipientKey: who}, {RecipientKey: who, Since: week}, {RecipientKey: who, Channel: notification.Email},
				{RecipientKey: who, Before: list.DecisionCursor{DecidedAt: week, EventID: "e7", Channel: notification.Email}},
			},
		}),
		plansOf(limited(list.Reader.PreferenceChanges), []string{""}, map[string][]list.PreferenceFilter{
			"preference_change_pkey": {{RecipientKey: who}, {RecipientKey: who, Channel: notification.Email}, {RecipientKey: who, Before: 2000}},
		}),
	)
}

// readPage reads a page of a list of T by a filter F.
type readPage[F, T any] func(list.Reader, context.Context, F, list.Place) (T, error)

// plansOf returns the pages of a list that begin after each key, for each filter by its index.
func plansOf[F, T any](read readPage[F, T], after []string, filters map[string][]F) (plans []listPlan) {
	for index, all := range filters {
		for _, filter := range all {
			for _, key := range after {
				name := fmt.Sprintf("%T %+v after %q", filter, filter, key)
				plans = append(plans, listPlan{name, index, func(ctx context.Context, l list.Reader) error {
					return roomtest.ErrOf(read(l, ctx, filter, list.Place{After: key, Limit: 50}))
				}})
			}
		}
	}
	return plans
}

// limited reads a list that has no further pages.
func limited[F, T any](read func(list.Reader, context.Context, F, int) (T, error)) readPage[F, T] {
	return func(l list.Reader, ctx context.Context, filter F, from list.Place) (T, error) {
		return read(l, ctx, filter, from.Limit)
	}
}
