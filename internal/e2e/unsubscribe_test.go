package e2e_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"herald/internal/sandbox"
)

// TestUnsubscribe follows the link of a mail: a scanner's GET changes nothing, the page asks
// and unsubscribes, the inbox shows it and takes it back, and a mailbox provider's POST does
// it with one click. What else comes, still comes; what is mandatory has no link.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()

	p := newInboxes(newSystem(t))
	p.exec(`
		INSERT INTO event_category (event_type, category) VALUES ('RESERVATION_CONFIRMED', 'your_bookings'), ('RESERVATION_CANCELLED', 'your_bookings');
		UPDATE event_type_channel_routing SET mandatory = false WHERE event_type = 'RESERVATION_CONFIRMED'`)
	decided := func(event, decision string) {
		p.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND user_id = '43' AND channels ->> 'EMAIL' = $2`, event, decision)
	}
	link := p.linkOf(p.confirm("19:00") + "-customer43-EMAIL")
	status, _ := p.gateway.request(http.MethodGet, link, "", nil)
	require.Equal(t, http.StatusOK, status)
	decided(p.confirm("19:15"), "SELECTED")

	b := newBrowser(t)
	page := b.open("http://" + p.gateway.host() + link)
	page.awaitText("h2", "Stop e-mails about your bookings?")
	require.Equal(t, "rgb(36, 86, 214)", evaluate[string](page, "getComputedStyle(document.querySelector('button')).backgroundColor"), "the style of the inbox")
	page.tabTo("button.main")
	page.press(kb.Enter)
	page.awaitText("h2", "You will get no more e-mails about your bookings")
	off := p.confirm("19:30")
	decided(off, "USER_DISABLED")
	p.awaitDelivery(off+"-customer43-WEBSOCKET", "SENT") // nobody's page is open

	ada := p.openAs(b, "Ada Brooks")
	ada.click("#open-preferences")
	chip := "[data-category=your_bookings] [data-channel=EMAIL]"
	ada.await("document.querySelector('" + chip + " input')?.checked === false")
	ada.click(chip)
	ada.click("#save")
	ada.await("!document.querySelector('dialog').open")
	decided(p.confirm("19:45"), "SELECTED")
	page.do(chromedp.Navigate("http://" + p.gateway.host() + link))
	page.awaitText("h2", "Stop e-mails about your bookings?")

	status, _ = p.gateway.request(http.MethodPost, link, "List-Unsubscribe=One-Click", nil)
	require.Equal(t, http.StatusOK, status)
	decided(p.confirm("20:00"), "USER_DISABLED")

	alert := p.alert("payments", "down") + "-admin1-EMAIL"
	p.awaitDelivery(alert, "SENT")
	require.Empty(t, p.mailed(alert).Unsubscribe, "what is mandatory cannot be switched off")
}

// linkOf is the path of the link by which the recipient of a mail unsubscribes, once it is
// sent.
func (p *inboxes) linkOf(deliveryID string) string {
	p.t.Helper()
	p.awaitDelivery(deliveryID, "SENT")
	link, err := url.Parse(p.mailed(deliveryID).Unsubscribe)
	require.NoError(p.t, err)
	require.Equal(p.t, "http://localhost:8080/unsubscribe", link.Scheme+"://"+link.Host+link.Path)
	return link.RequestURI()
}

// mailed is the mail of a delivery, as the provider accepted it.
func (s *system) mailed(deliveryID string) sandbox.Entry {
	s.t.Helper()
	messages := s.messages()
	i := slices.IndexFunc(messages, func(m sandbox.Entry) bool { return m.DeliveryID == deliveryID })
	require.GreaterOrEqual(s.t, i, 0, deliveryID)
	return messages[i]
}
