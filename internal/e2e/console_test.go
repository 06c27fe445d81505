package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// startConsole starts `starter console` and returns its address.
func (s *system) startConsole(settings ...string) string {
	s.t.Helper()
	address, _ := s.consoleAt("127.0.0.1:0", settings...)
	return address
}

func (s *system) consoleAt(addr string, settings ...string) (address string, console *worker) {
	s.t.Helper()
	console = s.launch("starter", settings, "console", "--addr", addr)
	s.eventually(func() bool { return serverAddress.MatchString(console.output.String()) }, "the console does not listen: %s", console.output)
	return serverAddress.FindString(console.output.String()), console
}

// A person without a terminal finds out why customer 7 got no promotion, and sends it again. Then the
// person stops a broadcast that has two cancelled deliveries.
func TestConsole(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "HERALD_ACTOR=ada@support")
	s.fails(1, "CONSOLE_USER_HEADER", "console", "--addr", "0.0.0.0:0") // without a proxy that signs people in
	s.fill(
		postgrestest.Route{EventType: "PROMOTION", Channel: notification.SMS},
		postgrestest.Route{EventType: "NEWS", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Template{Title: "Sale", Body: "Half price"})
	s.fillMany(7, postgrestest.Recipient{},
		postgrestest.Expressions{"user_id": "i", "phone": "'+1202555010' || i", "email": "i || '@example.com'"})
	s.exec(`UPDATE recipient SET phone = '+15005550009' WHERE user_id = '7'`) // a landline
	s.startAll("--events", "--channels", "email,sms")
	promotion := s.emit(s.name+"-promotion", "PROMOTION", "CUSTOMER/7", `{}`)
	news := s.emit(s.name+"-news", "NEWS", "BROADCAST/0", `{}`)
	delivery := promotion + "-customer7-SMS"
	s.awaitDelivery(delivery, "FAILED")
	s.awaitDeliveries(news, "PENDING", 7)
	s.changesOnce(news+"-customer1-EMAIL", news+"-customer2-EMAIL")

	address, console := s.consoleAt("127.0.0.1:0")
	tab := newBrowser(t).open(address)
	follow := func(selector string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		tab.do(steps...)
		tab.click(selector)
	}
	says := func(text string) {
		t.Helper()
		tab.await(fmt.Sprintf("document.querySelector('main')?.innerText.includes(%q) === true", text))
	}
	follow(".search button", chromedp.SendKeys(chromedp.CSS("#text"), "CUSTOMER/7"))
	says("Not sent over SMS: ")
	follow(fmt.Sprintf("a[href=%q]", "/delivery?id="+url.QueryEscape(delivery)))
	says("What happens next")
	says("21614") // Twilio: it is not a mobile number

	s.exec(`UPDATE recipient SET phone = '+12025550107' WHERE user_id = '7'`)
	s.exec(`DELETE FROM recipient_suppression`)
	follow(".answers button")
	says("The plan")
	follow("button.main", chromedp.SendKeys(chromedp.CSS("[name=reason]"), "they have a new number"))
	says("Done")
	s.awaitDelivery(delivery, "SENT")
	require.Equal(t, 1,
		s.count(`SELECT count(*) FROM operator_action WHERE target = $1 AND actor = 'ada@support' AND command = 'delivery retry' `+
			`AND detail LIKE '%they have a new number'`, delivery))

	follow(".search button", chromedp.SendKeys(chromedp.CSS("#text"), news))
	says("5 PENDING")
	follow(".answers form button")
	says("The plan")
	follow("button.main", chromedp.SendKeys(chromedp.CSS("[name=reason]"), "wrong text"))
	says("Done")
	s.awaitDeliveries(news, "CANCELLED", 7)

	const isOld = "document.querySelector('#stale')?.innerText.startsWith('This page is from ') === true"
	tab.click(".brand")
	says("Everything is on time")
	tab.allow("ERR_CONNECTION_REFUSED")
	console.kill()
	tab.await(isOld)
	s.consoleAt(strings.TrimPrefix(address, "http://"))
	tab.await("document.querySelector('#stale').hidden")
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// Two people, double clicks, old pages and a restart change a delivery only once. Each answer names
// the result.
func (s *system) changesOnce(first, second string) {
	s.awaitBegun(first) // a plan depends on it
	s.awaitBegun(second)
	ada, bob := s.startConsole("HERALD_ACTOR=ada"), s.startConsole("HERALD_ACTOR=bob")
	change := func(address, delivery, token, reason string) string {
		s.t.Helper()
		answer := must(http.PostForm(address+"/change",
			url.Values{"change": {"delivery cancel"}, "id": {delivery}, "token": {token}, "reason": {reason}}))(s.t)
		defer func() { _ = answer.Body.Close() }()
		require.Equal(s.t, http.StatusOK, answer.StatusCode)
		return string(must(io.ReadAll(answer.Body))(s.t))
	}
	token := func(page string) string {
		s.t.Helper()
		found := tokenField.FindStringSubmatch(page)
		require.NotNil(s.t, found, page)
		return found[1]
	}
	orders := func(delivery string) int {
		s.t.Helper()
		return s.count(`SELECT count(*) FROM operator_action WHERE target = $1`, delivery)
	}

	plan := change(ada, first, "", "")
	require.Contains(s.t, change(ada, first, token(plan), " "), "Write a reason")
	require.Contains(s.t, change(bob, first, token(plan), "seen"), "Nothing was changed by this form", "Bob cannot use Ada's form")
	require.Zero(s.t, orders(first))

	var clicks sync.WaitGroup
	answers := make([]string, 4)
	tokenOfAda := token(plan)
	for i := range answers { // a double click, twice
		clicks.Go(func() { answers[i] = change(ada, first, tokenOfAda, "seen") })
	}
	clicks.Wait()
	require.Equal(s.t, 1, orders(first))
	done := 0
	for _, answer := range answers {
		if strings.Contains(answer, "<h2>Done</h2>") {
			done++
			continue
		}
		require.Regexp(s.t, "This form was used before|Nothing was changed by this form", answer)
	}
	require.Equal(s.t, 1, done)

	// Ada and Bob see the same plan, and the console restarts in between.
	planOfAda, planOfBob := change(ada, second, "", ""), change(bob, second, "", "")
	again := s.startConsole("HERALD_ACTOR=ada")
	require.Contains(s.t, change(again, second, token(planOfAda), "seen"), "<h2>Done</h2>", "a form outlives a restart")
	s.awaitDelivery(second, "CANCELLED")
	late := change(bob, second, token(planOfBob), "seen")
	require.Contains(s.t, late, "Nothing was changed by this form")
	require.Contains(s.t, late, "was cancelled")
	require.Equal(s.t, 1, orders(second))
	require.Equal(s.t, 2, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED'`))
}
