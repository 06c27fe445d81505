package rules

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
)

// leftOut are the columns of the tables that no file has.
var leftOut = map[string]bool{
	"event_type_recipients.id": true, "event_type_escalation.confirms": true, "notification_template.channel_type": true,
	"notification_template.shipped": true,
}

// The description has each column with its standard value, so nobody forgets a new column.
func TestTablesAreDescribed(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, described := range tables {
		names := postgrestest.List(t, s, `
			SELECT attname::text
			FROM   pg_attribute
			WHERE  attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`, described.name)
		for _, name := range names {
			c, found := described.column(name)
			require.NotEqual(t, leftOut[described.name+"."+name], found, "%s.%s: describe it in tables.go, or leave it out here", described.name, name)
			if !found || c.required {
				continue
			}
			standard, err := json.Marshal(c.standard)
			require.NoError(t, err)
			require.JSONEq(t, string(standard), postgrestest.Get[string](t, s, `
				SELECT coalesce((
					SELECT to_jsonb(r) ->> 'value'
					FROM   pg_attrdef d
					CROSS JOIN LATERAL (SELECT (xpath('/row/v/text()', query_to_xml(
						'SELECT to_jsonb(' || pg_get_expr(d.adbin, d.adrelid) || ') AS v', false, true, '')))[1]::text AS value) r
					WHERE  (d.adrelid, d.adnum) = (a.attrelid, a.attnum)), 'null')
				FROM   pg_attribute a
				WHERE  (a.attrelid, a.attname) = ($1::regclass, $2)`, described.name, name), "%s.%s", described.name, name)
		}
	}
}
