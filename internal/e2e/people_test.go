package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// A waiter follows a restaurant in the inbox, gets a digest about it, reads why, mutes the restaurant by the
// mail's link, and switches a category off on the preference page. A viewer sees all of it in the console,
// and may change none of it. Nobody uses a terminal.
func TestPeople(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.tellFollowers()
	g := s.startGateway("BRAND_NAME=Trattoria Group")
	s = s.with("PUBLIC_URL=http://" + g.host())
	s.startAll("--events", "--channels", "email,websocket")
	b := newBrowser(t)

	inbox := b.open(g.link(notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "10"}, "Giulia Conti"))
	inbox.await(isOnline)
	s.changeMenu("ready", "TABLE_READY")
	inbox.await(`document.querySelector("#list .follow")?.innerText === "Follow Trattoria"`)
	inbox.click("#list .follow")
	inbox.awaitText("#list .follow", "Unfollow Trattoria")

	news := s.changeMenu("news", "MENU_CHANGED") + "-staff10-EMAIL"
	s.awaitDelivery(news, "SENT")
	mail := b.open(s.sandbox.URL + "/messages/0/mail")
	mail.await(`document.body.innerText.includes("you follow Trattoria")`)
	link := func(path string) string {
		t.Helper()
		found := evaluate[string](mail, fmt.Sprintf("document.querySelector('a[href*=\"/%s?\"]')?.href ?? ''", path))
		require.Contains(t, found, "http://"+g.host()+"/"+path+"?token=")
		return found
	}

	mute := b.open(link("mute"))
	mute.awaitText("h2", "Mute Trattoria?")
	mute.click("button.main")
	mute.awaitText("h2", "Trattoria is muted")
	silent := s.changeMenu("silent", "MENU_CHANGED")
	s.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND user_id = '10' AND channels ->> 'EMAIL' = 'MUTED'`,
		silent)

	preferences := b.open(link("preferences"))
	preferences.click("input[name=on][value='EMAIL/menus']")
	preferences.click("button.main")
	preferences.await(`document.querySelector("[role=status]")?.innerText.startsWith("Saved.")`)
	s.awaitCount(1, `SELECT count(*) FROM preference_change WHERE user_id = '10' AND category = 'menus' AND changed_by = 'link'`)

	s.sees(b, news, silent)
}

// tellFollowers inserts a waiter and the rules of a restaurant, whose followers get a digest of its news.
func (s *system) tellFollowers() {
	s.t.Helper()
	s.fill(
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Name: "Giulia Conti", Email: "giulia@example.com"},
		postgrestest.Member{Role: "WAITER"},
		postgrestest.Target{EventType: "TABLE_READY", EntityType: "RESTAURANT", EntityIDPath: "@aggregate"},
		postgrestest.Route{EventType: "TABLE_READY", Channel: notification.WebSocket},
		postgrestest.Target{EventType: "MENU_CHANGED", EntityType: "RESTAURANT", EntityIDPath: "@aggregate", Roles: []string{"FOLLOWER"}},
		postgrestest.Route{EventType: "MENU_CHANGED", Strategy: notification.Aggregate, DigestWindow: time.Second},
		postgrestest.Category{EventType: "MENU_CHANGED", Category: "menus"},
		postgrestest.Template{Title: "New: {{.payload.dish}}", Body: "{{.payload.dish}}"},
		postgrestest.Template{EventType: "digest", Channel: notification.Email, Title: "{{len .Items}} news",
			Body: `{{range .Items}}<p>{{.title}}. {{.reason}} <a href="{{.mute_url}}">Mute</a></p>{{end}}` +
				`<a href="{{.preferences_url}}">Preferences</a>`})
	s.exec(`INSERT INTO entity_name (entity_type, entity_id, name) VALUES ('RESTAURANT', '5', 'Trattoria')`)
}

func (s *system) changeMenu(name, eventType string) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, eventType, "RESTAURANT/5", `{"dish": "Risotto"}`)
}

// sees opens the console as a viewer. A proxy signs the viewer in.
func (s *system) sees(b *browser, sent, silent string) {
	var console *url.URL
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(console)
		r.Out.Header.Set("X-User", "vera")
		r.Out.Header.Set("X-Groups", "support")
	}})
	s.t.Cleanup(proxy.Close)
	console = must(url.Parse(s.startConsole("CONSOLE_USER_HEADER=X-User", "CONSOLE_GROUPS_HEADER=X-Groups", "CONSOLE_ORIGIN="+proxy.URL,
		"CONSOLE_ROLES=viewer=support,operator=oncall,approver=leads")))(s.t)

	tab := b.open("about:blank")
	tab.allow("503")
	says := func(path string, texts ...string) { // a page that took too long is opened again
		s.t.Helper()
		s.eventually(func() bool {
			tab.do(chromedp.Navigate(proxy.URL + path))
			page := evaluate[string](tab, "document.querySelector('main')?.innerText ?? ''")
			return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(page, text) })
		}, "%s never says %q", path, texts)
	}
	says("/recipient?type=RESTAURANT_USER&id=10", "RESTAURANT/5", "follows: all", "RESTAURANT/5 was muted by the recipient, by a link.")
	says("/delivery?"+url.Values{"id": {sent}}.Encode(), "you follow restaurant 5", "You need the role operator")
	says("/event?"+url.Values{"id": {silent}}.Encode(), "MUTED", "You need the role operator")
	for _, command := range []string{"delivery retry", "event retry", "event cancel", "event approve"} {
		form := url.Values{"change": {command}, "id": {strings.TrimSuffix(sent, "-staff10-EMAIL")}}
		answer := must(http.PostForm(proxy.URL+"/change", form))(s.t)
		require.NoError(s.t, answer.Body.Close())
		require.Equal(s.t, http.StatusForbidden, answer.StatusCode, command)
	}
}
