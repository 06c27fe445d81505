package main

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page of the console shows a change by itself, and keeps focus and open details. It waits while a form
// has input.
func TestConsoleRefreshes(t *testing.T) {
	t.Parallel()

	g := newContracted(t)
	server := httptest.NewServer(consoleHandler(g))
	t.Cleanup(server.Close)
	fail := func(id string) {
		_, err := g.store.Pool.Exec(t.Context(), `
			INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, error_message)
			VALUES ($1, 'PROMOTION', 'CUSTOMER', '7', '{}', 'FAILED', 'refused')`, id)
		require.NoError(t, err)
	}
	const show = `document.dispatchEvent(new Event("visibilitychange"))`
	const failed = `[...document.querySelectorAll(".figures strong")][1]?.textContent`
	tab := newTab(t)
	tab.open(server.URL + "/?span=day")
	tab.await(`!!document.querySelector("details")`)
	tab.evaluate(`document.querySelector("#table-SMS").open = true; document.querySelector("#table-SMS summary").focus()`)
	before := tab.list(`[` + failed + `]`)[0]
	fail("live-1")
	tab.evaluate(`window.stays = true; ` + show)
	tab.await(failed + ` !== "` + before + `"`)
	require.Equal(t, []string{"true", "true", "SUMMARY", "table-SMS"}, tab.list(`[String(window.stays),
		String(document.querySelector("#table-SMS").open), document.activeElement.tagName, document.activeElement.parentElement.id]`))

	tab.evaluate(`document.querySelector("main").insertAdjacentHTML("beforeend", "<form><input id=typed></form>");
		document.querySelector("#typed").value = "a reason"; window.loads = 0; const load = fetch;
		window.fetch = async (...a) => { const answer = await load(...a); window.loads++; return answer; }`)
	fail("live-2")
	tab.await(`(` + show + `, window.loads > 1)`) // the second load begins after the first
	require.Equal(t, []string{"a reason"}, tab.list(`[document.querySelector("#typed").value]`))
}
