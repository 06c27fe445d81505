package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// completed returns a command line's completions, without the last line, cobra's directive.
func completed(t *testing.T, c shell, args ...string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(c.must(t, append([]string{"__completeNoDesc"}, args...)...)), "\n")
	require.True(t, strings.HasPrefix(lines[len(lines)-1], ":"), lines)
	return lines[:len(lines)-1]
}

func TestCompleteIDs(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	c.exec(t, `
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('VISIT_BOOKED', 'EMAIL'), ('VISIT_BOOKED', 'SMS');
		INSERT INTO event_type_recipients (event_type, entity_type) VALUES ('VISIT_MOVED', 'ADMIN')`)
	c.exec(t, "INSERT INTO user_type (user_type, who, audience) VALUES ('PATIENT', 'patient', 'patient')")
	for _, tt := range []struct{ args, want []string }{
		{[]string{"delivery", "show", ""}, []string{"evt-1-staff10-SMS", "evt-1-staff10-EMAIL"}},
		{[]string{"delivery", "why", "evt-1-staff10-E"}, []string{"evt-1-staff10-EMAIL"}},
		{[]string{"delivery", "show", "evt-1-staff10-SMS", ""}, []string{}},
		{[]string{"event", "show", "evt"}, []string{"evt-1"}},
		{[]string{"delivery", "why", "--event", ""}, []string{"evt-1"}},
		{[]string{"delivery", "list", "--event", "e"}, []string{"evt-1"}},
		{[]string{"delivery", "list", "--event-type", "VISIT"}, []string{"VISIT_BOOKED", "VISIT_MOVED"}},
		{[]string{"event", "list", "--event-type", "VISIT"}, []string{"VISIT_BOOKED", "VISIT_MOVED"}},
		{[]string{"event", "list", "--type", "VISIT_M"}, []string{"VISIT_MOVED"}},
		{[]string{"event", "retry", "--type", "VISIT_B"}, []string{"VISIT_BOOKED"}},
		{[]string{"emit", "--type", "VISIT_B"}, []string{"VISIT_BOOKED"}},
		{[]string{"template", "preview", "--type", "VISIT_B"}, []string{"VISIT_BOOKED"}},
		{[]string{"delivery", "list", "--recipient", "a"}, []string{"ADMIN/", "AGENCY_USER/"}},
		{[]string{"delivery", "why", "--recipient", "PAT"}, []string{"PATIENT/"}},
	} {
		require.Equal(t, tt.want, completed(t, c, tt.args...))
	}
}

func TestCompleteWords(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ args, want []string }{
		{[]string{"delivery", "list", "--status", "p"}, []string{"PENDING"}},
		{[]string{"delivery", "list", "--status", "sent,F"}, []string{"sent,FAILED"}},
		{[]string{"delivery", "list", "--channel", "S"}, []string{"SMS", "SLACK"}},
		{[]string{"event", "list", "--status", "PRO"}, []string{"PROCESSED"}},
		{[]string{"delivery", "why", "--channel", "e"}, []string{"EMAIL"}},
		{[]string{"delivery", "show", "d1", "--output", ""}, []string{"table", "json"}},
	} {
		require.Equal(t, tt.want, completed(t, shell{}, tt.args...), tt.args)
	}
}

// If the database is out of reach, there are no completions and no errors.
func TestCompletionWithoutADatabaseIsSilent(t *testing.T) {
	t.Parallel()

	c := shell{environment: map[string]string{"DATABASE_URL": "postgres://" + unreachable + "/herald"}}
	require.Empty(t, completed(t, c, "delivery", "show", ""))
	require.Empty(t, completed(t, shell{}, "event", "show", ""))
}
