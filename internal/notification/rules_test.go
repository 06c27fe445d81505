package notification_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// situation is the full input of a decision.
type situation struct {
	channel                       notification.Channel
	supported, mandatory          bool
	userOff, groupOff, restricted bool
	quiet, deferred               bool
	full, noAddress, categoryOff  bool
	suppressed, expired, muted    bool
}

const switches = 13

// situations returns every possible situation.
func situations() []situation {
	var all []situation
	for _, channel := range notification.Channels() {
		for bits := range 1 << switches {
			on := func(n int) bool { return bits&(1<<n) != 0 }
			all = append(all, situation{
				channel: channel, supported: on(0), mandatory: on(1), userOff: on(2), groupOff: on(3), restricted: on(4), quiet: on(5), deferred: on(6),
				full: on(7), noAddress: on(8), categoryOff: on(9), suppressed: on(10), expired: on(11), muted: on(12),
			})
		}
	}
	return all
}

// want restates the specification: each decision with all its conditions. TestChannels fixes which
// channels are quieted.
func (s situation) want() notification.Decision {
	userOff := s.userOff || s.categoryOff
	wanted := s.mandatory || (!userOff && !s.groupOff && !s.muted)
	dropped := s.quiet && s.channel.Quieted() && !s.deferred
	over := s.full && !s.mandatory
	missing := s.noAddress && s.channel != notification.WebSocket
	inTime := !s.expired

	holds := map[notification.Decision]bool{
		"EXPIRED":         s.expired,
		"UNSUPPORTED":     inTime && !s.supported,
		"USER_DISABLED":   inTime && s.supported && !s.mandatory && userOff,
		"GROUP_DISABLED":  inTime && s.supported && !s.mandatory && !userOff && s.groupOff,
		"MUTED":           inTime && s.supported && !s.mandatory && !userOff && !s.groupOff && s.muted,
		"ROLE_RESTRICTED": inTime && s.supported && wanted && s.restricted,
		"QUIET_HOURS":     inTime && s.supported && wanted && !s.restricted && dropped,
		"MAX_RECIPIENTS":  inTime && s.supported && wanted && !s.restricted && !dropped && over,
		"NO_ADDRESS":      inTime && s.supported && wanted && !s.restricted && !dropped && !over && missing,
		"SUPPRESSED":      inTime && s.supported && wanted && !s.restricted && !dropped && !over && !missing && s.suppressed,
		"SELECTED":        inTime && s.supported && wanted && !s.restricted && !dropped && !over && !missing && !s.suppressed,
	}
	var decisions []notification.Decision
	for decision, yes := range holds {
		if yes {
			decisions = append(decisions, decision)
		}
	}
	if len(decisions) != 1 {
		panic(fmt.Sprintf("%+v: %v", s, decisions))
	}
	return decisions[0]
}

// noon lies in the quiet hours of situations that have quiet hours.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func (s situation) rules() notification.EventSetup {
	limit := 1
	rules := notification.EventSetup{
		Category: "offers",
		Routing: []notification.Routing{{
			Channel: s.channel, Mandatory: s.mandatory, Strategy: notification.Immediate, QuietHoursAction: notification.Drop,
		}},
		Supported: map[notification.Channel][]notification.UserType{s.channel: {notification.Customer}},
		Settings:  []notification.Setting{{Entity: restaurant5, Channel: s.channel, Enabled: !s.groupOff, MaxRecipients: &limit}},
	}
	if s.expired {
		rules.Event.ExpiresAt = noon
	}
	if s.deferred {
		rules.Routing[0].QuietHoursAction = notification.Defer
	}
	if s.supported {
		rules.Supported[s.channel] = append(rules.Supported[s.channel], notification.RestaurantUser)
	}
	if s.restricted {
		rules.Settings[0].AllowedRoles = []string{"CHEF"}
	}
	return rules
}

func (s situation) recipient() notification.Recipient {
	recipient := staff("1", "WAITER")
	recipient.Muted = s.muted
	if s.noAddress {
		recipient.Email, recipient.Phone, recipient.SlackWebhookURL, recipient.WebhookURL, recipient.HasDevice = "", "", "", "", false
	}
	recipient.Suppressions = []notification.Suppression{{Channel: "FAX", Reason: notification.SuppressedBounce}}
	if s.suppressed {
		recipient.Suppressions = append(recipient.Suppressions,
			notification.Suppression{Channel: s.channel, Reason: notification.SuppressedOptOut, Since: noon})
	}
	preference := notification.Preference{Channel: s.channel, Enabled: !s.userOff}
	if s.quiet {
		lunch := hours("11:00", "13:00")
		preference.QuietHours = &lunch
	}
	recipient.Preferences = []notification.Preference{preference}
	recipient.CategoriesOff = []notification.CategoryChannelKey{{Category: "news", Channel: s.channel}, {Category: "offers", Channel: "FAX"}}
	if s.categoryOff {
		recipient.CategoriesOff = append(recipient.CategoriesOff, notification.CategoryChannelKey{Category: "offers", Channel: s.channel})
	}
	return recipient
}

// The findings explain the decision: in every situation, the first rule that applies decides.
func TestDecideEverySituation(t *testing.T) {
	t.Parallel()

	seen := map[notification.Decision]int{}
	for _, s := range situations() {
		key := "RESTAURANT/5 " + string(s.channel)
		used := notification.Used{}
		if s.full {
			used[key] = 1
		}
		before, applied := used[key], notification.DecisionSelected
		for i, finding := range s.rules().Facts(s.recipient(), s.channel, noon, used).Findings() {
			require.Equal(t, notification.Decisions()[i], finding.Decision)
			require.NotEmpty(t, finding.Fact)
			if finding.Applies && applied == notification.DecisionSelected {
				applied = finding.Decision
			}
		}

		choices := s.rules().Decide(s.recipient(), noon, used)

		require.Len(t, choices, 1)
		choice, want := choices[0], s.want()
		require.Equal(t, want, choice.Decision, "%+v", s)
		require.Equal(t, want, applied, "%+v", s)
		require.Equal(t, s.channel, choice.Channel)
		seen[want]++
		if want != notification.DecisionSelected {
			require.Equal(t, notification.Choice{Channel: s.channel, Decision: want}, choice)
			require.Equal(t, before, used[key], "%+v", s)
			continue
		}
		require.Equal(t, before+1, used[key], "%+v", s)
		require.Equal(t, s.quiet && s.channel.Quieted(), choice.Wait.Quiet, "%+v", s)
	}
	require.Len(t, seen, 11, "every decision was taken")
}

func TestDecideSendAfter(t *testing.T) {
	t.Parallel()

	var never time.Time
	end := noon.Add(time.Hour)
	tests := []struct {
		name     string
		strategy notification.Strategy
		delay    time.Duration
		quiet    bool
		want     time.Time
	}{
		{name: "immediate", strategy: notification.Immediate, want: never},
		{name: "immediate ignores a delay", strategy: notification.Immediate, delay: time.Hour, want: never},
		{name: "immediate, deferred", strategy: notification.Immediate, quiet: true, want: end},
		{name: "aggregate", strategy: notification.Aggregate, want: never},
		{name: "aggregate, deferred", strategy: notification.Aggregate, quiet: true, want: end},
		{name: "delayed", strategy: notification.Delayed, delay: 10 * time.Minute, want: noon.Add(10 * time.Minute)},
		{name: "delayed by nothing", strategy: notification.Delayed, want: never},
		{name: "delayed, deferred for longer", strategy: notification.Delayed, delay: 10 * time.Minute, quiet: true, want: end},
		{name: "delayed for longer than deferred", strategy: notification.Delayed, delay: 2 * time.Hour, quiet: true,
			want: noon.Add(2 * time.Hour)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := situation{channel: notification.Email, supported: true, quiet: tt.quiet, deferred: true}
			rules := s.rules()
			rules.Routing[0].Strategy, rules.Routing[0].Delay = tt.strategy, tt.delay

			choice := rules.Decide(s.recipient(), noon, notification.Used{})[0]

			require.Equal(t, notification.DecisionSelected, choice.Decision)
			require.Equal(t, tt.strategy, choice.Strategy)
			require.True(t, tt.want.Equal(choice.Wait.Until), "%v", choice.Wait)
			spread := choice.SendAfter("d").Sub(tt.want)
			require.True(t, spread == 0 || (tt.want.Equal(end) && 0 < spread && spread < time.Minute), "%v", spread)
		})
	}
}

func TestDecidePriority(t *testing.T) {
	t.Parallel()

	tests := []struct{ routing, preference, want notification.Priority }{
		{want: notification.Normal},
		{preference: notification.Low, want: notification.Low},
		{routing: notification.High, want: notification.High},
		{routing: notification.High, preference: notification.Low, want: notification.High},
	}
	for _, tt := range tests {
		s := situation{channel: notification.Email, supported: true}
		rules, recipient := s.rules(), s.recipient()
		rules.Routing[0].Priority, recipient.Preferences[0].Priority = tt.routing, tt.preference

		choice := rules.Decide(recipient, noon, notification.Used{})[0]

		require.Equal(t, tt.want, choice.Priority, "%+v", tt)
	}
}

// A group's quiet hours apply to its members, even on mandatory channels. A row for the event's
// own type replaces the row for every type.
func TestDecideGroupQuietHours(t *testing.T) {
	t.Parallel()

	lunch := hours("11:00", "13:00")
	everyType := notification.Setting{Entity: restaurant5, Channel: notification.Email, Enabled: true, QuietHours: &lunch}
	ownType := notification.Setting{Entity: restaurant5, Channel: notification.Email, Enabled: true, EventSpecific: true}
	elsewhere := everyType
	elsewhere.Entity.ID = "6"
	tests := []struct {
		name     string
		settings []notification.Setting
		deferred bool
		want     notification.Decision
		until    time.Time
	}{
		{name: "dropped", settings: []notification.Setting{everyType}, want: notification.DecisionQuietHours, until: time.Time{}},
		{name: "deferred", settings: []notification.Setting{everyType}, deferred: true, want: notification.DecisionSelected,
			until: noon.Add(time.Hour)},
		{name: "replaced by the event's own row", settings: []notification.Setting{everyType, ownType}, want: notification.DecisionSelected,
			until: time.Time{}},
		{name: "another group's", settings: []notification.Setting{elsewhere}, want: notification.DecisionSelected, until: time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := situation{channel: notification.Email, supported: true, mandatory: true, deferred: tt.deferred}
			rules := s.rules()
			rules.Settings = tt.settings

			choice := rules.Decide(s.recipient(), noon, notification.Used{})[0]

			require.Equal(t, tt.want, choice.Decision)
			require.True(t, tt.until.Equal(choice.Wait.Until), "%v", choice.Wait)
		})
	}
}

// Quiet hours without a gap between them have no end to wait for.
func TestDecideDropsInEndlessQuietHours(t *testing.T) {
	t.Parallel()

	rest := hours("13:00", "11:00")
	s := situation{channel: notification.Email, supported: true, quiet: true, deferred: true}
	rules := s.rules()
	rules.Settings[0].QuietHours = &rest
	require.Equal(t, notification.DecisionQuietHours, rules.Decide(s.recipient(), noon, notification.Used{})[0].Decision)
}

func TestDecideWithoutRows(t *testing.T) {
	t.Parallel()

	rules := notification.EventSetup{
		Routing:   []notification.Routing{{Channel: notification.Email}},
		Supported: map[notification.Channel][]notification.UserType{notification.Email: {notification.RestaurantUser}},
	}
	used := notification.Used{}
	for range 3 { // on, for any role, unlimited
		require.Equal(t, notification.DecisionSelected, rules.Decide(staff("1", ""), noon, used)[0].Decision)
	}
	require.Equal(t, notification.Used{"RESTAURANT/5 EMAIL": 3}, used)

	rules.Routing = nil
	require.Empty(t, rules.Decide(staff("1", ""), noon, used))
}

func TestDecideInTheOrderOfChannels(t *testing.T) {
	t.Parallel()

	rules := notification.EventSetup{Routing: []notification.Routing{
		{Channel: notification.Slack}, {Channel: notification.Email}, {Channel: "PIGEON"}, {Channel: notification.WebSocket},
	}}
	var got []notification.Channel
	for _, choice := range rules.Decide(staff("1", ""), noon, notification.Used{}) {
		got = append(got, choice.Channel)
	}
	require.Equal(t, []notification.Channel{notification.WebSocket, notification.Email, notification.Slack}, got)
}

// Max recipients counts only selected recipients, across pages.
func TestDecideMaxRecipientsOverPages(t *testing.T) {
	t.Parallel()

	limit := 2
	s := situation{channel: notification.Email, supported: true}
	rules := s.rules()
	rules.Settings[0].MaxRecipients = &limit
	nobody := staff("2", "CHEF")
	nobody.Email = ""
	elsewhere := staff("3", "CHEF")
	elsewhere.Entity.ID = "6"

	used := notification.Used(nil).Clone()
	steps := []struct {
		recipient notification.Recipient
		want      notification.Decision
	}{
		{staff("1", "MANAGER"), notification.DecisionSelected},
		{nobody, notification.DecisionNoAddress},
		{elsewhere, notification.DecisionSelected},
		{staff("4", "CHEF"), notification.DecisionSelected},
		{staff("5", "CHEF"), notification.DecisionMaxRecipients},
		{nobody, notification.DecisionMaxRecipients},
	}
	for i, step := range steps {
		require.Equal(t, step.want, rules.Decide(step.recipient, noon, used)[0].Decision, "step %d", i)
		cursor, err := json.Marshal(used) // each page is a separate activity
		require.NoError(t, err)
		used = nil
		require.NoError(t, json.Unmarshal(cursor, &used))
	}
	require.Equal(t, notification.Used{"RESTAURANT/5 EMAIL": 2, "RESTAURANT/6 EMAIL": 1}, used)
}

func TestUsedClone(t *testing.T) {
	t.Parallel()

	used := notification.Used{"RESTAURANT/5 EMAIL": 1}
	clone := used.Clone()
	clone["RESTAURANT/5 EMAIL"]++
	require.Equal(t, notification.Used{"RESTAURANT/5 EMAIL": 1}, used)
	require.NotNil(t, notification.Used(nil).Clone())
}

var restaurant5 = notification.Entity{Type: "RESTAURANT", ID: "5"}

// staff is a member of restaurant 5, reachable over every channel.
func staff(id, role string) notification.Recipient {
	return notification.Recipient{
		UserType: notification.RestaurantUser, UserID: id, Roles: []string{role}, Entity: restaurant5,
		Email: "staff@example.com", Phone: "+390612345678", SlackWebhookURL: "https://hooks.slack.com/services/T/B/x",
		WebhookURL: "https://example.com/hooks/x", HasDevice: true,
	}
}
