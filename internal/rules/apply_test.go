package rules_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/rules"
)

var order = rules.Order{Actor: "ada@ops", Reason: "a test", Commit: "c0ffee"}

// folderOf writes a folder of files: name, content, name, content …
func folderOf(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o644))
	}
	return dir
}

func plan(t *testing.T, s *db.DB, dir string, prune bool) rules.Plan {
	t.Helper()
	p, err := load(t, dir).Plan(t.Context(), s, prune)
	require.NoError(t, err)
	return p
}

func applied(context.Context) error { return nil }

func apply(t *testing.T, s *db.DB, dir string, prune bool, as rules.Order) error {
	t.Helper()
	return load(t, dir).Apply(t.Context(), s, plan(t, s, dir, prune), as, applied)
}

// summary returns a line for each change: CHANGE event_category OFFER category drift.
func summary(changes []rules.Change) (lines []string) {
	for _, c := range changes {
		line := string(c.Action) + " " + c.Name() + " " + strings.Join(c.Columns(), ",")
		if c.Drift != nil {
			line += " drift"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestApply(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	first := plan(t, s, restaurant, false)
	require.Contains(t, summary(first.Changes), "CREATE event_type_channel_routing RESERVATION_REQUESTED WEBSOCKET mandatory,priority")
	require.NoError(t, apply(t, s, restaurant, false, order))
	require.False(t, plan(t, s, restaurant, false).Differs())

	require.Equal(t, "ada@ops a test c0ffee", postgrestest.Get[string](t, s, `
		SELECT DISTINCT concat_ws(' ', actor, reason, commit_id) FROM applied_rule WHERE event_type = 'RESERVATION_REQUESTED'`))
}

const offer = `
channels: { EMAIL: { delay: 5 minutes, delivery_strategy: DELAYED }, PUSH: }
category: offers
texts: { "*": { en: { title: Offer, body: "Half price" } } }
`

func TestPlanFindsWhatChangedByHand(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		byHand string
		file   string
		prune  bool
		want   []string
	}{
		"nothing":                {},
		"another spelling":       {file: strings.Replace(offer, "5 minutes", "00:05", 1)},
		"the file":               {file: strings.Replace(offer, "5 min", "6 min", 1), want: []string{"CHANGE event_type_channel_routing OFFER EMAIL delay"}},
		"the row":                {byHand: "UPDATE event_category SET category = 'news'", want: []string{"CHANGE event_category OFFER category drift"}},
		"the row is gone":        {byHand: "DELETE FROM event_category", want: []string{"CREATE event_category OFFER category drift"}},
		"file and row, the same": {byHand: "UPDATE event_category SET category = 'news'", file: strings.Replace(offer, "offers", "news", 1)},
		"file and row": {byHand: "UPDATE event_category SET category = 'news'", file: strings.Replace(offer, "offers", "deals", 1),
			want: []string{"CHANGE event_category OFFER category drift"}},
		"a key is gone":            {file: strings.Replace(offer, "category: offers", "", 1)},
		"a key is gone, pruned":    {file: strings.Replace(offer, "category: offers", "", 1), prune: true, want: []string{"DELETE event_category OFFER category"}},
		"another event type":       {byHand: "INSERT INTO event_category VALUES ('NEWS', 'news')"},
		"another, pruned":          {byHand: "INSERT INTO event_category VALUES ('NEWS', 'news')", prune: true, want: []string{"DELETE event_category NEWS category"}},
		"a restaurant's, pruned":   {byHand: "INSERT INTO entity_notification_settings VALUES ('RESTAURANT', '5', 'SMS', 'OFFER')", prune: true},
		"all customers', pruned":   {byHand: "INSERT INTO entity_notification_settings VALUES ('CUSTOMER', '0', 'SMS', 'OFFER')", prune: true, want: []string{"DELETE entity_notification_settings CUSTOMER 0 SMS OFFER"}},
		"no installation, pruned":  {byHand: "INSERT INTO frequency_cap (channel_type, spacing) VALUES ('SMS', '1 hour')", prune: true},
		"a shipped text is no row": {byHand: "UPDATE notification_template SET url = url WHERE false", prune: true},
	}
	s := postgrestest.New(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			postgrestest.Exec(t, s, `TRUNCATE applied_rule, event_category, event_type_channel_routing, entity_notification_settings, frequency_cap CASCADE`)
			postgrestest.Exec(t, s, "DELETE FROM notification_template WHERE NOT shipped")
			require.NoError(t, apply(t, s, folderOf(t, "OFFER.yaml", offer), false, order))
			if c.byHand != "" {
				postgrestest.Exec(t, s, c.byHand)
			}
			if c.file == "" {
				c.file = offer
			}
			dir := folderOf(t, "OFFER.yaml", c.file)
			p := plan(t, s, dir, c.prune)
			require.Equal(t, c.want, summary(p.Changes))

			err := apply(t, s, dir, c.prune, order)
			if len(p.Drifted()) > 0 {
				require.ErrorAs(t, err, new(*rules.DriftError))
				require.Equal(t, c.want, summary(plan(t, s, dir, c.prune).Changes), "nothing changed")
				overwriting := order
				overwriting.Overwrite = true
				err = apply(t, s, dir, c.prune, overwriting)
			}
			require.NoError(t, err)
			require.False(t, plan(t, s, dir, c.prune).Differs())
		})
	}
}

func TestApplyTurnsAnEscalationAround(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	const channels = "channels: { SMS: , PUSH: , EMAIL: }\n"
	for _, escalation := range []string{
		"{ PUSH: { to_channel: SMS, after: 1 hour, until: READ }, SMS: { to_channel: EMAIL, after: 1 hour, until: READ } }",
		"{ EMAIL: { to_channel: SMS, after: 1 hour, until: READ }, SMS: { to_channel: PUSH, after: 1 hour, until: READ } }",
	} {
		dir := folderOf(t, "OFFER.yaml", channels+"escalation: "+escalation)
		require.NoError(t, apply(t, s, dir, true, order))
		require.False(t, plan(t, s, dir, true).Differs())
	}
}

func TestApplyNamesTheRowThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	dir := folderOf(t, "OFFER.yaml", "category: offers\nchannels:\n  EMAIL:\n    delay: 40 days\n    delivery_strategy: DELAYED\n")
	var mistake rules.Mistake
	require.ErrorAs(t, apply(t, s, dir, false, order), &mistake)
	require.Equal(t, filepath.Join(dir, "OFFER.yaml"), mistake.File)
	require.Equal(t, 3, mistake.Line)
	require.Contains(t, mistake.Problem, "event_type_channel_routing_delay")
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM event_category"), "all or nothing")
}

func TestApplyChangesNothingWithoutConsent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	dir := folderOf(t, "OFFER.yaml", offer)
	refused := errors.New("no")
	err := load(t, dir).Apply(t.Context(), s, plan(t, s, dir, false), order, func(context.Context) error { return refused })
	require.ErrorIs(t, err, refused)
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM event_category"))
}

func TestOneApplyAtATime(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	dir := folderOf(t, "OFFER.yaml", offer)
	planned := plan(t, s, dir, false)
	err := load(t, dir).Apply(t.Context(), s, planned, order, func(context.Context) error {
		require.ErrorIs(t, load(t, dir).Apply(t.Context(), s, planned, order, applied), rules.ErrApplying)
		postgrestest.Exec(t, s, "INSERT INTO event_category VALUES ('NEWS', 'news')") // other hands need not wait
		return nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, load(t, dir).Apply(t.Context(), s, planned, order, applied), rules.ErrChanged)
}

func TestOriginsAndLastChanges(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, "INSERT INTO event_category VALUES ('NEWS', 'news')")
	require.NoError(t, apply(t, s, folderOf(t, "OFFER.yaml", offer, "NEWS.yaml", "category: news"), false, order))
	second := order
	second.Commit = ""
	changed := strings.Replace(strings.Replace(offer, "category: offers", "", 1), "5 min", "6 min", 1)
	require.NoError(t, apply(t, s, folderOf(t, "OFFER.yaml", changed, "NEWS.yaml", "category: news"), true, second))

	origins, err := rules.Origins(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, origins, 2)
	require.Equal(t, []string{"NEWS c0ffee", "OFFER "}, []string{
		origins[0].EventType + " " + origins[0].CommitID, origins[1].EventType + " " + origins[1].CommitID,
	})
	changes, err := rules.LastChanges(t.Context(), s, "OFFER")
	require.NoError(t, err)
	require.Equal(t, []string{"DELETE event_category OFFER category", "CHANGE event_type_channel_routing OFFER EMAIL delay"}, summary(changes))
	require.Equal(t, "6 minutes", changes[1].Text("delay", changes[1].After))
	changes, err = rules.LastChanges(t.Context(), s, "NEWS")
	require.NoError(t, err)
	require.Empty(t, changes, "the apply found the row as the file has it")
}
