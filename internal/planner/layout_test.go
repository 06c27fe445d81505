package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
)

// A template has the layout of its language, and what the layout's links need.
func TestTemplatesHaveTheirLayouts(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for locale, body := range map[string]string{"en": "English", "it": "Italian", "it_CH": "Swiss", "de-AT": "Austrian"} {
		postgrestest.Add(t, s.Pool, postgrestest.Layout{Locale: locale, Body: body})
	}
	want := map[string]string{"en": "English", "it": "Italian", "IT-ch": "Swiss", "it-SM": "Italian", "de": "English", "ita": "English"}
	for locale := range want {
		postgrestest.Add(t, s.Pool, postgrestest.Template{EventType: "T", Locale: locale, Layout: "page"})
	}
	postgrestest.Add(t, s.Pool, postgrestest.Template{EventType: "T", Channel: notification.SMS, Layout: "none"},
		postgrestest.Template{EventType: "T", Channel: notification.Push}, postgrestest.Category{}, postgrestest.Route{},
		postgrestest.Route{Channel: notification.SMS, Mandatory: true}, postgrestest.Route{Channel: notification.Push})
	setup, err := planner.On(s).TypeSetup(t.Context(), "T")
	require.NoError(t, err)

	found := map[string]string{}
	for _, row := range setup.Templates {
		switch row.Channel {
		case "*":
			require.Equal(t, []any{"page", "offers", true}, []any{row.Layout, row.Category, row.Optional})
			found[row.Locale] = row.LayoutBody
		case "SMS":
			require.Equal(t, []any{"none", "", "offers", false}, []any{row.Layout, row.LayoutBody, row.Category, row.Optional})
		default:
			require.Equal(t, []any{"", "", "", false}, []any{row.Layout, row.LayoutBody, row.Category, row.Optional})
		}
	}
	require.Equal(t, want, found)
}
