package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/report"
)

// The entities that a recipient follows or has muted come with their names, the
// last choice first. Entities of other recipients do not come.
func TestEntityChoices(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool,
		postgrestest.Follow{EntityType: "ORDER", EntityID: "7", Level: "IMPORTANT"}, postgrestest.Mute{}, postgrestest.Mute{UserID: "11"})
	postgrestest.Exec(t, s, `INSERT INTO entity_name (entity_type, entity_id, name) VALUES ('RESTAURANT', '5', 'Trattoria')`)
	postgrestest.Exec(t, s, `UPDATE entity_mute SET created_at = created_at + interval '1 second'`)
	for limit, want := range map[int][]string{
		10: {"RESTAURANT/5 Trattoria ", "ORDER/7  IMPORTANT"}, 1: {"RESTAURANT/5 Trattoria "},
	} {
		found, err := report.Reader{Pool: s.Pool}.EntityChoices(t.Context(),
			notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "10"}, limit)
		require.NoError(t, err)
		var choices []string
		for _, c := range found {
			require.NotZero(t, c.Since)
			choices = append(choices, c.EntityType+"/"+c.EntityID+" "+c.EntityName+" "+string(c.Level))
		}
		require.Equal(t, want, choices)
	}
}
