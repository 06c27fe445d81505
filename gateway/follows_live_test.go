package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// A change of the level keeps the keyboard focus. After signing out, the page has nothing of the person.
// A notification that names the person directly has no button to mute.
func TestFollowsInABrowser(t *testing.T) {
	t.Parallel()

	g := newContracted(t)
	postgrestest.Exec(t, g.store, `
		INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id)
		VALUES ('RESTAURANT_USER', '10', 'RESTAURANT', '5'), ('RESTAURANT_USER', '10', 'RESTAURANT', '6');
		INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) VALUES ('RESTAURANT_USER', '10', 'ORDER', '7')`)
	for id, entity := range map[string]notification.Entity{
		"direct": {Type: "RESTAURANT_USER", ID: "10"}, "group": {Type: "ORDER", ID: "8"},
	} {
		postgrestest.Add(t, g.store.Pool, postgrestest.Delivery{ID: id, EventID: id, UserType: notification.RestaurantUser, UserID: "10",
			Channel: notification.WebSocket, Title: id, EntityType: entity.Type, EntityID: entity.ID, Status: notification.Sent, Attempts: 1,
			AvailableAt: time.Now()})
	}
	tab := newTab(t)
	tab.open(g.URL + "/#code=" + g.code(t, tokenOfNamed(t, "10", "Giulia Conti")))
	const mute = `[...document.querySelectorAll("#list .mute:not([hidden])")].map((button) => button.textContent)`
	tab.await(mute + ".length > 0")
	require.Equal(t, []string{"Mute order 8"}, tab.list(mute))

	tab.evaluate(`document.querySelector("#open-preferences").click()`)
	tab.await(`document.querySelector("dialog").open`)
	tab.evaluate(`{
		const level = document.querySelectorAll("#follows select")[1];
		level.focus();
		level.value = "IMPORTANT";
		level.dispatchEvent(new Event("change"));
	}`)
	tab.await(`!!document.querySelector("#announcements p")`)
	require.Equal(t, []string{"SELECT", "restaurant 6: how much", "IMPORTANT"}, tab.list(`[document.activeElement.tagName,
		document.activeElement.ariaLabel, document.activeElement.value]`))
	require.Equal(t, []string{"5 ALL", "6 IMPORTANT"}, postgrestest.List(t, g.store,
		"SELECT entity_id || ' ' || level FROM entity_follow ORDER BY 1"))

	tab.evaluate(`document.querySelector("#switch").click()`)
	tab.await(`document.body.dataset.view === "signed-out"`)
	require.Empty(t, tab.list(`[...document.querySelectorAll("#follows li, #mutes li")].map((l) => l.textContent)`))
}
