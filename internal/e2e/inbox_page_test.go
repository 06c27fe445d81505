package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/stacktest"
	"herald/tools/link"
)

// inboxes is an installation with the example's people, a worker, and a gateway whose page can
// log in as any of them.
type inboxes struct {
	*system
	gateway  *gateway
	customer int // who makes reservations
	emitted  int
}

func newInboxes(s *system) *inboxes {
	s.t.Helper()
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startAll()
	return &inboxes{system: s, gateway: s.startGateway("GATEWAY_DEMO=true"), customer: 43}
}

// openAs opens the page as a person, and waits until the page is live.
func (p *inboxes) openAs(b *browser, name string) *tab {
	p.t.Helper()
	tab := b.open("http://" + p.gateway.host() + "/")
	tab.await("document.querySelectorAll('.person').length > 0")
	evaluate[any](tab,
		fmt.Sprintf("[...document.querySelectorAll('.person')].find((p) => p.querySelector('strong').textContent === %q).click()", name))
	tab.await(isOnline)
	return tab
}

const (
	isOnline  = "document.body?.dataset.connection === 'online'"
	isOffline = "document.body?.dataset.connection === 'offline'"
	firstRead = "!document.querySelector('#list li').classList.contains('unread')"
)

// confirm emits a confirmed reservation for the customer, and returns the event id.
func (p *inboxes) confirm(time string) string {
	p.t.Helper()
	p.emitted++
	return p.emit(fmt.Sprintf("%s-confirmed-%d", p.name, p.emitted), "RESERVATION_CONFIRMED", "RESERVATION/7001",
		fmt.Sprintf(`{"reservationId":7001,"restaurantId":7,"customer":{"id":%d,"name":"Ada Brooks"},"pax":2,"date":"2026-12-21","time":%q}`,
			p.customer, time))
}

// alert emits an alert about a service to the admins, and returns the event id.
func (p *inboxes) alert(service, message string) string {
	p.t.Helper()
	p.emitted++
	return p.emit(fmt.Sprintf("%s-alert-%d", p.name, p.emitted), "SYSTEM_ALERT", "ADMIN/1",
		fmt.Sprintf(`{"service":%q,"message":%q}`, service, message))
}

// shows returns an expression that is true if the page lists this number of notifications with a
// text, and shows the number of unread notifications.
func shows(text string, listed, unread int) string {
	count := ""
	if unread > 0 {
		count = fmt.Sprint(unread)
	}
	return fmt.Sprintf("[...document.querySelectorAll('#list li')].filter((li) => li.innerText.includes(%q)).length === %d && "+
		"document.getElementById('count').textContent === %q",
		text, listed, count)
}

// The pages of one installation, in the tabs of two people.
func TestInboxPage(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "WEBSOCKET_OUTAGE=0s")
	broker, rabbitURL := stacktest.LinkTo(t, s.servers.rabbitURL)
	s.env = append(s.env, "RABBITMQ_URL="+rabbitURL)
	p, b := newInboxes(s), newBrowser(t)
	ada, again, admin := p.openAs(b, "Ada Brooks"), p.openAs(b, "Ada Brooks"), p.openAs(b, "Root Admin")
	p.areLive(ada, again, admin)
	p.leadSomewhere(ada)
	p.countAgain(ada)
	p.showScriptsAsText(admin)
	p.obeyTheKeyboard(admin)
	p.unsubscribe(b, ada)
	p.followLinks(b)
	p.comeBack(b, broker, ada, again, admin)
}

// Events appear on the open page as they are committed. A click marks them as read, also in other
// tabs of the same person.
func (p *inboxes) areLive(ada, again, admin *tab) {

	first := p.confirm("19:15")
	ada.await(shows("19:15", 1, 1))
	again.await(shows("19:15", 1, 1))
	p.awaitDelivery(first+"-customer43-WEBSOCKET", "DELIVERED")
	require.Zero(p.t, p.count("SELECT count(*) FROM notification WHERE read_at IS NOT NULL"))

	second := p.confirm("19:30")
	ada.await(shows("19:30", 1, 2))
	again.await(shows("19:30", 1, 2))
	ada.click("#list li:first-child button")
	ada.await(shows("", 2, 1) + " && " + firstRead)
	again.await(shows("", 2, 1) + " && " + firstRead)
	p.awaitCount(1, "SELECT count(*) FROM notification WHERE event_id = $1 AND channel = 'WEBSOCKET' AND read_at IS NOT NULL", second)

	again.click("#read-all")
	again.await(shows("", 2, 0))
	ada.await(shows("", 2, 0))
	admin.await(shows("", 0, 0))
	require.Equal(p.t, "Notifications", evaluate[string](admin, "document.title"))
}

// Two notifications arrive while the page still trusts its own count. A third notification has no frame,
// and the page counts it, too.
func (p *inboxes) countAgain(ada *tab) {
	p.confirm("20:15")
	ada.await(shows("20:15", 1, 1))
	p.fill(
		postgrestest.Delivery{ID: "silent", EventID: "silent", EventType: "RESERVATION_CONFIRMED", UserID: "43", Channel: notification.WebSocket,
			Title: "Silent", Body: "without a frame", Status: notification.Sent, Attempts: 1, AvailableAt: time.Now()})
	p.confirm("20:30")
	ada.await(shows("Silent", 1, 3))
}

// A click on a notification opens the url of its template and marks it as read. The filter shows unread
// notifications.
func (p *inboxes) leadSomewhere(ada *tab) {
	const (
		link   = "document.querySelector('#list .link')"
		listed = "document.querySelector('#list').ariaBusy === 'false' && document.querySelectorAll('#list li').length === "
	)
	p.exec(`UPDATE notification_template SET url = 'https://app.example.com/{{.payload.reservationId}}' ` +
		`WHERE event_type = 'RESERVATION_CONFIRMED'`)
	ada.click("#show-unread")
	ada.awaitText("#empty", "You have read everything.")
	linked := p.confirm("21:15")
	ada.await(shows("21:15", 1, 1) + " && " + link + "?.href === 'https://app.example.com/7001'")
	require.Equal(p.t, "noopener noreferrer _blank", evaluate[string](ada, link+".rel + ' ' + "+link+".target"))
	require.Equal(p.t, "R", evaluate[string](ada, "document.querySelector('#list .icon').innerText"))

	p.exec(`UPDATE notification_template SET url = 'javascript:alert({{.payload.reservationId}})' WHERE event_type = 'RESERVATION_CONFIRMED'`)
	p.awaitDelivery(p.confirm("21:30")+"-customer43-WEBSOCKET", "DELIVERED")
	ada.await(shows("21:30", 1, 2) + " && document.querySelectorAll('#list .link').length === 1")

	evaluate[any](ada, link+".addEventListener('click', (event) => event.preventDefault())") // the test has no such host
	ada.click("#list .link")
	ada.await(shows("21:15", 1, 1)) // it stays until the filter changes
	p.awaitCount(1, "SELECT count(*) FROM notification WHERE event_id = $1 AND channel = 'WEBSOCKET' AND read_at IS NOT NULL", linked)
	ada.click("#show-all")
	ada.await(listed + "4")
	ada.click("#show-unread")
	ada.await(listed + "1 && " + shows("21:30", 1, 1))
	ada.click("#list li button")
	ada.await(shows("", 1, 0))
	ada.click("#show-all")
	ada.await(listed + "4")
	require.True(p.t, evaluate[bool](ada, "document.querySelector('#show-all').ariaPressed === 'true'"))
}

// link returns a link to the page, made like in an application's backend.
func (g *gateway) link(who notification.RecipientKey, name string) string {
	g.t.Helper()
	status, answer := g.request(http.MethodPost, "/api/inbox-code", "", bearer(tokenOfNamed(g.t, who, name)))
	require.Equal(g.t, http.StatusCreated, status, answer)
	var made struct{ Code string }
	require.NoError(g.t, json.Unmarshal([]byte(answer), &made))
	return "http://" + g.host() + "/#code=" + made.Code
}

// Each link to the page works once. The page asks before it switches to another person. A link to the
// preferences opens the preferences after the sign-in.
func (p *inboxes) followLinks(b *browser) {
	g := p.startGateway() // without GATEWAY_DEMO
	ada, tom := notification.RecipientKey{UserType: notification.Customer,
		UserID: "43"}, notification.RecipientKey{UserType: notification.Customer, UserID: "44"}
	link := g.link(ada, "Ada Brooks")
	first := b.open(link)
	first.await(isOnline)
	first.awaitText("#who", "Ada Brooks")
	require.Empty(p.t, evaluate[string](first, "location.hash"), "nobody can copy the code")
	require.NotContains(p.t, link, tokenOfNamed(p.t, ada, "Ada Brooks"))

	again := b.open("about:blank")
	again.allow("401")
	again.do(chromedp.Navigate(link))
	again.awaitText("#signed-out h2", "You are signed out")

	first.do(chromedp.Navigate(g.link(tom, "Tom Wrong")))
	first.awaitText("#switching p", "You are signed in as Ada Brooks. This link opens the notifications of Tom Wrong.")
	first.click("#refuse")
	first.await(isOnline)
	first.awaitText("#who", "Ada Brooks")
	first.do(chromedp.Navigate(g.link(tom, "Tom Wrong")))
	first.click("#agree")
	first.await(isOnline)
	first.awaitText("#who", "Tom Wrong")
	first.do(chromedp.Navigate(g.link(tom, "Tom Wrong")))
	first.await(isOnline)
	first.awaitText("#who", "Tom Wrong")

	unsubscribed := b.open("http://" + g.host() + "/#preferences") // the link of the unsubscribe page
	unsubscribed.awaitText("#signed-out h2", "You are signed out")
	unsubscribed.do(chromedp.Navigate(g.link(ada, "Ada Brooks")))
	unsubscribed.await("document.querySelector('dialog')?.open === true")
	require.Empty(p.t, evaluate[string](unsubscribed, "location.hash"))
}

// The page shows scripts in titles and bodies as text, and does not run them.
func (p *inboxes) showScriptsAsText(admin *tab) {
	title := `<script>document.title='owned'</script>`
	body := `<img src=x onerror="document.title='owned'"><a href="javascript:alert(1)">x</a>`
	p.alert(title, body)

	admin.awaitText("#list li .title", "Alert: "+title)
	admin.awaitText("#list li .body", title+" reports: "+body)
	p.broadcast(title, body) // from another publisher
	admin.awaitText("#notices strong", title)
	admin.awaitText("#notices span", body)
	require.True(p.t,
		evaluate[bool](admin, "!document.querySelector('main script, main img, main a, #announcements img, #announcements script')"))
	require.Equal(p.t, "(1) Notifications", evaluate[string](admin, "document.title"))
	admin.click("#notices button")
	admin.await("!document.querySelector('.notice')")
}

// broadcast sends a message to all connected clients, like another publisher.
func (p *inboxes) broadcast(title, body string) {
	p.t.Helper()
	conn := must(amqp.Dial(p.servers.rabbitURL))(p.t)
	defer func() { _ = conn.Close() }()
	channel := must(conn.Channel())(p.t)
	message := must(json.Marshal(map[string]string{"type": "notification", "title": title, "body": body}))(p.t)
	require.NoError(p.t, channel.PublishWithContext(p.t.Context(), "notifications.exchange", "notification.websocket.all", true, false,
		amqp.Publishing{Body: message}))
}

// The inbox can be switched off and on with the keyboard. The setting applies to later events.
// Mandatory messages cannot be switched off.
func (p *inboxes) obeyTheKeyboard(admin *tab) {
	unread := 1 // of the step before
	toggle := func() {
		admin.tabTo("#open-preferences")
		admin.press(kb.Enter)
		admin.await("document.querySelector('dialog').open")
		admin.tabTo("[data-channel=WEBSOCKET] input")
		admin.press(" ")
		admin.tabTo("#save")
		admin.press(kb.Enter)
		admin.await("!document.querySelector('dialog').open && document.activeElement.id === 'open-preferences'")
	}
	decided := func(event, decision string) {
		p.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND user_type = 'ADMIN' AND user_id = '1' `+
			`AND channels ->> 'WEBSOCKET' = $2`, event, decision)
	}

	decided(p.alert("payments", "before"), "SELECTED")
	admin.await(shows("before", 1, unread+1))
	toggle()
	decided(p.alert("payments", "meanwhile"), "USER_DISABLED")
	toggle()
	decided(p.alert("payments", "after"), "SELECTED")
	admin.await(shows("after", 1, unread+2))
	require.True(p.t, evaluate[bool](admin, shows("meanwhile", 0, unread+2)))

	admin.tabTo("#list li:first-child button")
	admin.press(kb.Enter)
	admin.await(shows("after", 1, unread+1))
}

// A gateway restarts, is killed, and loses the broker. The page shows that it is offline, reconnects,
// and shows each missed message once.
func (p *inboxes) comeBack(b *browser, broker *link.Link, others ...*tab) {
	chiara := p.openAs(b, "Chiara Romano")
	p.customer = 42
	p.confirm("18:00")
	chiara.await(shows("18:00", 1, 1))
	for _, tab := range append(others, chiara) {
		tab.allow("ERR_CONNECTION_REFUSED") // the browser's error text
	}

	host := p.gateway.host()
	for i, end := range []func(){func() { require.NoError(p.t, p.gateway.stop()) }, func() { p.gateway.kill() }} {
		end()
		chiara.await(isOffline + " && document.getElementById('connection').innerText.includes('offline')")
		event := p.confirm(fmt.Sprintf("19:0%d", i))
		p.awaitDelivery(event+"-customer42-WEBSOCKET", "SENT")
		p.gateway = p.startGateway("GATEWAY_DEMO=true", "GATEWAY_HTTP_ADDR="+host)
		chiara.await(isOnline + " && " + shows(fmt.Sprintf("19:0%d", i), 1, 2+i))
		p.awaitDelivery(event+"-customer42-WEBSOCKET", "DELIVERED")
	}

	broker.Cut()
	lost := p.confirm("20:00")
	p.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND status IN ('FAILED', 'DELIVERED')`,
		lost+"-customer42-WEBSOCKET") // DELIVERED: the page has caught up from the inbox already
	broker.Mend()
	chiara.await(shows("20:00", 1, 4))
	p.confirm("21:00")
	chiara.await(shows("21:00", 1, 5))
	require.Equal(p.t, "", evaluate[string](chiara, "document.getElementById('connection').innerText"))
}

// TestInboxDocument follows docs/inbox.md like a developer of an application: it runs the JavaScript on
// a page of another origin, and sends the requests.
func TestInboxDocument(t *testing.T) {
	t.Parallel()

	steps := runnable(t, "docs/inbox.md")
	require.Len(t, steps, 5, "an example in docs/inbox.md that this test does not know")
	emit, code, requests, preferences, follows := steps[0], steps[1], steps[2], steps[3], steps[4]
	r := newSystem(t).reader(t.TempDir())
	r.starter("seed", "--slack-url", r.sandbox.URL)
	r.startAll()
	token := tokenOf(t, notification.RecipientKey{UserType: notification.Customer, UserID: "43"})
	var gateway *gateway
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, appPage, script(t, "docs/inbox.md"), "ws://"+gateway.host(), token)
	}))
	t.Cleanup(app.Close)
	gateway = r.startGateway("GATEWAY_ALLOWED_ORIGINS=" + app.URL)

	page := newBrowser(t).open(app.URL)
	r.shell(emit)
	page.awaitText("#shown", "Reservation confirmed")
	r.awaitCount(1, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND status = 'DELIVERED'")

	page.allow("WebSocket connection")
	gateway.kill()
	r.shell(emit)
	r.awaitCount(1, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND status = 'SENT'")
	r.startGateway("GATEWAY_ALLOWED_ORIGINS="+app.URL, "GATEWAY_HTTP_ADDR="+gateway.host())
	page.awaitText("#shown", "Reservation confirmed\nReservation confirmed")
	r.awaitCount(2, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND status = 'DELIVERED'")

	r.env = append(r.env, "GATEWAY=http://"+gateway.host(), "TOKEN="+token,
		fmt.Sprint("ID=", r.count("SELECT max(id) FROM notification WHERE channel = 'WEBSOCKET'")))
	r.shell(code)
	r.shell(requests)
	r.awaitCount(0, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND read_at IS NULL")
	r.shell(preferences)
	r.awaitCount(1, "SELECT count(*) FROM user_notification_preferences WHERE user_id = '43' AND channel_type = 'EMAIL' "+
		"AND quiet_hours_start = '22:00'")
	r.awaitCount(1, "SELECT count(*) FROM user_settings WHERE user_id = '43' AND timezone = 'Europe/Rome'")
	r.fill(
		postgrestest.Target{
			EventType: "MENU_CHANGED", EntityType: "RESTAURANT", EntityIDPath: "@aggregate", Roles: []string{notification.Follower},
		},
		postgrestest.Mute{UserType: notification.Customer, UserID: "43"})
	r.shell(follows)
	r.awaitCount(1, "SELECT count(*) FROM entity_follow WHERE user_id = '43' AND level = 'IMPORTANT'")
	r.awaitCount(0, "SELECT count(*) FROM entity_mute")
}

// appPage is a page of an application, with the document's JavaScript, a gateway and a token.
const appPage = `<!doctype html><link rel="icon" href="data:,"><pre id="shown"></pre><script type="module">
%s
listen(%q, async () => %q, (notification) => document.getElementById("shown").append(notification.title + "\n"));
</script>`

// script returns the JavaScript in a document.
func script(t *testing.T, document string) string {
	t.Helper()
	for _, block := range codeBlocks(t, document) {
		if block.language == "js" {
			return block.text
		}
	}
	t.Fatalf("%s has no JavaScript", document)
	return ""
}
