package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestPageFits looks at the page as a desk and a phone show it, light and dark: nothing is
// cut off, and each text stands out from what is behind it as WCAG 2.2 (AA) asks.
// To take the pictures of the documents: go test ./internal/e2e -run TestPageFits -write-docs
func TestPageFits(t *testing.T) {
	t.Parallel()

	p := newInboxes(newSystem(t))
	b := newBrowser(t)
	for _, event := range []struct{ eventType, aggregate, payload string }{
		{"PROMOTION", "BROADCAST/0", `{"restaurant":"Trattoria","discount":15}`},
		{"RESERVATION_CANCELLED", "RESERVATION/7000", `{"reservationId":7000,"restaurantId":7,"customer":{"id":43,"name":"Ada Brooks"},"pax":2,"date":"2026-12-19","time":"19:30"}`},
		{"RESERVATION_CONFIRMED", "RESERVATION/7001", `{"reservationId":7001,"restaurantId":7,"customer":{"id":43,"name":"Ada Brooks"},"pax":2,"date":"2026-12-21","time":"20:00"}`},
		{"TABLE_READY", "CUSTOMER/43", `{"table":"12","averyveryveryveryveryverylongword":true}`},
	} {
		p.emitted++
		p.emit(fmt.Sprintf("%s-look-%d", p.name, p.emitted), event.eventType, event.aggregate, event.payload)
	}
	p.awaitCount(4, "SELECT count(*) FROM notification WHERE user_id = '43' AND channel = 'WEBSOCKET' AND status = 'SENT'")
	p.exec(`UPDATE notification SET available_at = now() - CASE event_type WHEN 'TABLE_READY' THEN interval '20 s' WHEN 'RESERVATION_CONFIRMED' THEN '6 min' WHEN 'PROMOTION' THEN '40 min' ELSE '50 min' END,
		       read_at = CASE WHEN event_type IN ('PROMOTION', 'RESERVATION_CANCELLED') THEN now() END
		WHERE  user_id = '43' AND channel = 'WEBSOCKET'`)
	p.exec(`INSERT INTO event_category (event_type, category) VALUES ('RESERVATION_CONFIRMED', 'reservations')`)
	p.exec(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		VALUES ('CUSTOMER', '43', 'PUSH', true, true, '22:00', '08:00')
		ON CONFLICT (user_type, user_id, channel_type) DO UPDATE SET quiet_hours_enabled = true, quiet_hours_start = '22:00', quiet_hours_end = '08:00'`)
	ada := p.openAs(b, "Ada Brooks")
	ada.await(shows("", 4, 2))

	looks := []struct {
		name          string
		scheme        string
		width, height int64
		preferences   bool
		picture       string // its name in docs/; empty: none
	}{
		{"desk, light", "light", 900, 430, false, "inbox"},
		{"desk, dark", "dark", 900, 430, false, "inbox-dark"},
		{"phone, light", "light", 390, 640, false, ""},
		{"phone, dark", "dark", 390, 640, false, "inbox-phone"},
		{"small phone", "light", 320, 568, false, ""},
		{"preferences on a desk, light", "light", 900, 960, true, "inbox-preferences"},
		{"preferences on a desk, dark", "dark", 900, 960, true, ""},
		{"preferences on a phone", "light", 390, 860, true, ""},
		{"preferences on a small phone", "dark", 320, 568, true, ""},
	}
	for _, look := range looks {
		ada.do(chromedp.EmulateViewport(look.width, look.height), prefers(look.scheme))
		if look.preferences {
			ada.click("#open-preferences")
			ada.await("document.querySelector('dialog').open")
		}
		require.Empty(t, evaluate[[]string](ada, cutOff), look.name)
		require.Empty(t, evaluate[[]string](ada, faint), look.name)
		if *writeDocs && look.picture != "" {
			ada.picture(look.picture)
		}
		if look.preferences {
			ada.click("#cancel")
		}
	}
}

// prefers sets what the person has chosen for all pages: light or dark.
func prefers(scheme string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return chromedp.Void{}, err
	}
}

// picture writes a picture of the page into docs/.
func (tab *tab) picture(name string) {
	tab.t.Helper()
	png, err := chromedp.Run(tab.ctx, chromedp.CaptureScreenshot())
	require.NoError(tab.t, err)
	require.NoError(tab.t, os.WriteFile(filepath.Join("../../docs", name+".png"), png, 0o644))
}

const (
	// cutOff are the elements that reach beyond the left or right side of the window.
	cutOff = `[...document.querySelectorAll("header *, main *, dialog *")]
		.filter((e) => e.checkVisibility() && !e.closest(".unseen, svg"))
		.filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)
		.map((e) => e.outerHTML.slice(0, 80))`

	// faint are the elements with a text of their own whose colour is too near to that behind
	// them: a contrast under 4.5. What is disabled may be.
	faint = `(() => {
		const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
		const behind = (e) => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if ((c[3] ?? 1) === 1) return c; } return [255, 255, 255]; };
		const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		return [...document.querySelectorAll("header *, main *, dialog *")]
			.filter((e) => e.checkVisibility() && !e.disabled && !e.closest(".unseen, option") && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
			.filter((e) => contrast(light(channels(getComputedStyle(e).color)), light(behind(e))) < 4.5)
			.map((e) => e.outerHTML.slice(0, 80));
	})()`
)
