package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

// permit sets the browser's permission to show notifications.
func (tab *tab) permit(setting cdp.PermissionSetting) {
	tab.t.Helper()
	tab.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, cdp.SetPermission,
			cdp.SetPermissionParams{Permission: &cdp.PermissionDescriptor{Name: "notifications"}, Setting: setting})
		return chromedp.Void{}, err
	})
}

// The page asks for the permission only after a click, registers its service worker, and registers
// the browser at the gateway. Browsers in tests have no push service, so the test simulates one.
func TestPushButton(t *testing.T) {
	t.Parallel()

	g := newContracted(t)
	browsers := func() (count int) {
		require.NoError(t, g.store.Pool.QueryRow(t.Context(),
			`SELECT count(*) FROM recipient_device WHERE token LIKE '{"endpoint":"https://push.example.com/push/1"%'
				AND user_id = '10'`).Scan(&count))
		return count
	}
	tab := newTab(t)
	open := func() {
		tab.open("about:blank")
		tab.open(g.URL + "/#code=" + g.code(t, tokenOfNamed(t, "10", "Giulia Conti")))
		tab.await("document.body?.dataset.connection === 'online' && !document.getElementById('push-part').hidden")
	}
	press := func() { tab.evaluate("document.getElementById('push').click()") }
	says := func(text string) string {
		return fmt.Sprintf("document.getElementById('push').textContent === %q && !document.getElementById('push').disabled", text)
	}
	const on, off = "Stop notifications in this browser", "Notify me in this browser"

	open()
	tab.evaluate("navigator.serviceWorker.getRegistrations().then((all) => (window.workers = all.length))")
	tab.await("window.workers === 0")
	tab.permit("denied")
	press()
	tab.await("document.getElementById('push-problem').textContent.includes('your browser blocks notifications') && " + says(off))
	tab.permit("granted")
	press()
	tab.await("document.getElementById('push-problem').textContent.startsWith('This did not work: ') && " +
		"!document.getElementById('push-problem').textContent.includes('blocks') && " + says(off))
	tab.evaluate("navigator.serviceWorker.getRegistration().then((r) => (window.scope = r.scope))")
	tab.await("window.scope === location.origin + '/'")
	require.Zero(t, browsers())

	tab.evaluate(fmt.Sprintf(`PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
		if (!userVisibleOnly || applicationServerKey !== %q) throw new Error("wrong options");
		const subscription = { toJSON: () => (%s), unsubscribe: async () => (window.gone = true), options: {} };
		PushManager.prototype.getSubscription = async () => subscription;
		return subscription;
	}`, pushKey, sandbox.Subscription("https://push.example.com", "1")))
	press()
	tab.await(says(on))
	require.Equal(t, 1, browsers())
	press()
	tab.await(says(off) + " && window.gone")
	require.Zero(t, browsers())

	press()
	tab.await(says(on))
	tab.evaluate("window.gone = false; document.getElementById('switch').click()") // sign out, perhaps on a shared computer
	tab.await("!document.getElementById('signed-out-heading').closest('[hidden]') && window.gone")
	require.Zero(t, browsers())
}

// A click on a browser's notification opens its url: with a path, on the host of the page. Without a url
// of a page, it opens the inbox.
func TestNotificationClick(t *testing.T) {
	t.Parallel()

	worker, err := os.ReadFile("../internal/inbox/page/service-worker.js")
	require.NoError(t, err)
	quoted, err := json.Marshal(string(worker))
	require.NoError(t, err)
	tab := newTab(t)
	tab.open("about:blank")
	tab.evaluate(`window.opened = async (url) => {
		const handlers = {}, shown = [], urls = [];
		const registration = { scope: "https://inbox.example.com/herald/", showNotification: (title, options) => shown.push({ ...options, close: () => {} }) };
		const clients = { matchAll: async () => [], openWindow: (to) => urls.push(to) };
		new Function("addEventListener", "registration", "clients", ` + string(quoted) + `)((name, handle) => (handlers[name] = handle), registration, clients);
		const waits = [], waitUntil = (promise) => waits.push(promise);
		handlers.push({ data: { json: () => ({ title: "Order", body: "7", tag: "t", url }) }, waitUntil });
		handlers.notificationclick({ notification: shown[0], waitUntil });
		await Promise.all(waits);
		return urls.join(" ");
	}`)
	const inbox = "https://inbox.example.com/herald/"
	for url, want := range map[string]string{
		`"/orders/7"`: "https://inbox.example.com/orders/7", `"https://shop.example/o/7"`: "https://shop.example/o/7", "undefined": inbox,
		`""`:                    inbox,
		`"javascript:alert(1)"`: inbox, `"https://"`: inbox,
	} {
		tab.evaluate("opened(" + url + ").then((urls) => (window.result = urls))")
		tab.await(fmt.Sprintf("window.result === %q", want))
		tab.evaluate("window.result = undefined")
	}
}
