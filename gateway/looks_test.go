package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

var writePictures = flag.Bool("write-pictures", false, "write the pictures of testdata/ and docs/")

// look is a device and a colour scheme.
type look struct {
	name          string
	scheme        string // light or dark
	width, height int64
}

// looksOf returns a page's looks, in the order of the page's picture.
func looksOf(deskHeight, phoneHeight int64) []look {
	return []look{
		{"desk, light", "light", 900, deskHeight}, {"desk, dark", "dark", 900, deskHeight},
		{"phone, light", "light", 390, phoneHeight}, {"phone, dark", "dark", 390, phoneHeight},
	}
}

// TestLooks compares each page with its picture in testdata/, on a desk and a phone, light and
// dark. On these devices and on a small phone it checks that nothing is cut off, and that each text
// has the contrast that WCAG 2.2 (AA) requires. docs/ has some of the pictures, too. To write the
// pictures again: go test ./gateway -run TestLooks -write-pictures
func TestLooks(t *testing.T) {
	t.Parallel()

	g := newContracted(t)
	g.furnish()
	inbox := func(show string) func(*tab) {
		return func(tab *tab) {
			tab.open(g.URL + "/#code=" + g.code(t, tokenOfNamed(t, "10", "Giulia Conti")))
			tab.await("document.body?.dataset.connection === 'online'")
			tab.await("document.querySelectorAll('#list li .mute:not([hidden])').length === 18")
			if show != "" {
				tab.evaluate("document.querySelector('" + show + "').click()")
				tab.await("document.querySelector('dialog').open")
			}
		}
	}
	letters := g.letters()
	box := sandboxOf(t)
	page := func(address string) func(*tab) { return func(tab *tab) { tab.open(address) } }
	press := func(address string) func(*tab) { return func(tab *tab) { tab.press(address) } }
	tests := []struct {
		name  string
		show  func(*tab)
		looks []look
		docs  []string // names in docs/, in the order of the looks; empty: not in docs/
	}{
		{"inbox", inbox(""), looksOf(430, 640), []string{"inbox", "inbox-dark", "", "inbox-phone"}},
		{"preferences", inbox("#open-preferences"), looksOf(1300, 860), []string{"inbox-preferences", "", "", ""}},
		{"unsubscribe", page(g.URL + letters.offers), looksOf(320, 420), []string{"", "", "", ""}},
		{"link-unsubscribed", press(g.URL + letters.offers), looksOf(320, 420), []string{"", "", "", ""}},
		{"link-preferences", press(g.URL + letters.preferences), looksOf(1010, 1080), []string{"", "", "", ""}},
		{"link-muted", press(g.URL + letters.mute), looksOf(320, 420), []string{"", "", "", ""}},
		{"sandbox", page(box), looksOf(700, 700), []string{"", "", "", ""}},
		{"sandbox-mail", page(box + "/messages/0"), looksOf(500, 700), []string{"", "", "", ""}},
		{"console", page(consoleOf(g) + "/?span=day"), looksOf(900, 900), []string{"console", "", "", ""}},
		{"console-recipient", page(consoleOf(g) + "/recipient?type=CUSTOMER&id=7"), looksOf(900, 900), []string{"console-recipient", "", "", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := newTab(t)
			tt.show(tab)
			var pictures []picture
			for i, look := range append(tt.looks, look{"small phone", "dark", 320, 568}) {
				tab.device(look)
				tab.dress()
				require.Empty(t, tab.list(cutOff), look.name)
				require.Empty(t, tab.list(faint), look.name)
				if i == len(tt.looks) {
					break
				}
				shot := tab.picture()
				pictures = append(pictures, shot.small())
				if tt.docs[i] != "" {
					shot.requireLike(t, filepath.Join("../docs", tt.docs[i]+".png"), picture.small)
				}
			}
			row(pictures).requireLike(t, filepath.Join("testdata", tt.name+".png"), func(p picture) picture { return p })
		})
	}
}

// furnish gives user 10 an inbox with 15 unread notifications, and preferences.
func (c *contracted) furnish() {
	c.t.Helper()
	_, err := c.store.Pool.Exec(c.t.Context(), `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, url,
		                          status, attempt_count, sent_at, available_at, read_at, entity_type, entity_id, member_role)
		SELECT 'look-' || n, types[n % 4 + 1], 'RESTAURANT_USER', '10', 'WEBSOCKET', 'look-' || n, titles[n % 4 + 1], bodies[n % 4 + 1],
		       CASE n % 4 WHEN 0 THEN '/reservations/7' END, 'SENT', 1, now(), now() - n * interval '7 minutes',
		       CASE WHEN n IN (2, 3, 5) THEN now() END, 'RESTAURANT', '5', 'MANAGER'
		FROM   generate_series(0, 17) AS n,
		       (SELECT ARRAY['RESERVATION_REQUESTED', 'RESERVATION_CANCELLED', 'TABLE_READY', 'OFFER_MADE'],
		               ARRAY['New reservation', 'Reservation cancelled', 'Table 12 is ready', 'Offer: 15% on weekdays'],
		               ARRAY['Ada Brooks, 2 people, 21 December at 20:00. A window seat, please.',
		               'Tom Wright, 4 people, 19 December at 19:30.', 'The guests wait at the bar.',
		                     'A longer text, which says all that there is to say about the offer, and then some more: it runs over several lines on every device, and the page shows three of them until somebody opens it. '
		                     || 'The rest is here, for people who want to read all of it, down to averyveryveryverylongwordwithoutaspace.'])
		                         AS words (types, titles, bodies)`)
	require.NoError(c.t, err)
	postgrestest.Add(c.t, c.store.Pool,
		postgrestest.Preference{Channel: notification.Push, QuietStart: "22:00", QuietEnd: "08:00"},
		postgrestest.Preference{Channel: notification.SMS, Off: true},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.WebSocket},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.SMS},
		postgrestest.Route{EventType: "SPECIAL_OFFER"}, postgrestest.Route{EventType: "SPECIAL_OFFER", Channel: notification.Push},
		postgrestest.Category{EventType: "SPECIAL_OFFER", Category: "special-offers"})
	postgrestest.Exec(c.t, c.store, `
		INSERT INTO entity_name (entity_type, entity_id, name) VALUES ('RESTAURANT', '5', 'Trattoria Bella');
		INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id, level)
		VALUES ('RESTAURANT_USER', '10', 'RESTAURANT', '5', 'IMPORTANT');
		INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) VALUES ('RESTAURANT_USER', '10', 'ORDER', '7')`)
}

// letters are the paths of links in messages to customers.
type letters struct{ offers, preferences, mute string }

// letters adds customers with several languages, and a digest with a time for them.
func (c *contracted) letters() letters {
	c.t.Helper()
	to := func(id, locale string) notification.Recipient {
		r := notification.Recipient{UserType: notification.Customer, UserID: id, Email: id + "@example.com"}
		postgrestest.Add(c.t, c.store.Pool, postgrestest.Recipient{UserID: id, Email: r.Email, Locale: locale})
		return r
	}
	postgrestest.Add(c.t, c.store.Pool,
		postgrestest.Route{EventType: "NEWSLETTER"}, postgrestest.Category{EventType: "NEWSLETTER", Category: "news"},
		postgrestest.Target{EventType: "NEWSLETTER", UserType: notification.Customer, EntityType: "BROADCAST"})
	postgrestest.Exec(c.t, c.store, "UPDATE event_type_channel_routing SET delivery_strategy = 'AGGREGATE', digest_at = '09:00' "+
		"WHERE event_type = 'NEWSLETTER'")
	english, italian, german := to("101", "en"), to("102", "it-CH"), to("103", "de")
	return letters{
		offers: links.Unsubscribe(notification.Email)(
			notification.Message{UserType: italian.UserType, UserID: italian.UserID, Category: "special-offers", To: italian.Email}),
		preferences: links.Preferences(notification.Email, german),
		mute:        links.Mute(notification.Email, english, notification.Entity{Type: "RESTAURANT", ID: "5"}),
	}
}

// sandboxOf returns the URL of a sandbox that has received messages and simulates a fault. Its page
// does not refresh itself. The e-mail has a coloured area without visible letters, because dress
// cannot set the font there.
func sandboxOf(t *testing.T) string {
	t.Helper()
	ledger := filepath.Join(t.TempDir(), "ledger.ndjson")
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	entries := []sandbox.Entry{
		{Channel: "EMAIL", DeliveryID: "evt-1-customer43-EMAIL", Recipient: "ada.brooks@example.com", Title: "Reservation confirmed",
			Body: `<p style="padding: 4em; background: #c7d7fe"><span style="font-size: 0">See you on 21 December at 20:00, in the Trattoria ` +
				`by the river. The kitchen closes at 22:00.</span></p>`,
			Text: "See you on 21 December at 20:00, in the Trattoria by the river.\n\nThe kitchen closes at 22:00.", Status: 202, Accepted: true,
			Unsubscribe: "https://herald.example.com/unsubscribe?token=1.x"},
		{Channel: "SMS", DeliveryID: "evt-1-customer45-SMS", Recipient: "+393401234567",
			Body: "Reservation confirmed: 21 December at 20:00.", Status: 400},
		{Channel: "PUSH", DeliveryID: "evt-2-staff10-PUSH",
			Recipient: "device-token-0000000000000000000000000000000000000000000000000000000000000000", Title: "New reservation",
			Body: "Ada Brooks, 2 people", Status: 200, Accepted: true},
		{Channel: "SLACK", DeliveryID: "evt-2-staff11-SLACK", Recipient: "/services/T00/B00/x", Body: "New reservation: Ada Brooks",
			Accepted: true},
		{Channel: "SMS", DeliveryID: "evt-3-customer46-SMS", Recipient: "+81312345678", Body: "Your table is ready."},
	}
	var lines strings.Builder
	for i, entry := range entries {
		entry.Time = at.Add(time.Duration(i) * 1234 * time.Millisecond)
		require.NoError(t, json.NewEncoder(&lines).Encode(entry))
	}
	require.NoError(t, os.WriteFile(ledger, []byte(lines.String()), 0o600))
	box, err := sandbox.New(sandbox.Config{Ledger: ledger, Gateway: "http://127.0.0.1:1",
		Receipts: `{"delay":"300ms","twice":true,"rate":0.5}`})
	require.NoError(t, err)
	t.Cleanup(func() { _ = box.Close() })
	answer := httptest.NewRecorder()
	box.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/faults/SMS",
		strings.NewReader(`{"status":503,"rate":0.3,"retry_after":"2s"}`)))
	require.Less(t, answer.Code, 300, answer.Body)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/script.js" {
			box.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// tab is a page in a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// newTab starts an English browser. It runs without the browser's own sandbox, which root cannot
// use.
func newTab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(ctx,
		chromedp.WithAllocatorOptions(chromedp.NoSandbox, chromedp.Env("LANGUAGE=en_US", "LANG=en_US.UTF-8", "LC_ALL=")))
	t.Cleanup(end)
	return &tab{t, ctx}
}

func (tab *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	require.NoError(tab.t, chromedp.Do(tab.ctx, steps...), "Chromium is missing? run make test or tools/browser.sh")
}

func (tab *tab) open(address string) { tab.do(chromedp.Navigate(address)) }

// press opens a page, and sends its form.
func (tab *tab) press(address string) {
	tab.open(address)
	tab.evaluate("document.body.dataset.before = 'yes'; document.querySelector('form button').click()")
	tab.await("!document.body.dataset.before && document.readyState === 'complete'")
}

func (tab *tab) evaluate(expression string) {
	tab.t.Helper()
	_, err := chromedp.Run(tab.ctx, chromedp.Evaluate[any](expression))
	require.NoError(tab.t, err)
}

// list returns the value of a JavaScript expression, a list of texts.
func (tab *tab) list(expression string) []string {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, chromedp.Evaluate[[]string](expression))
	require.NoError(tab.t, err)
	return value
}

// await waits until a JavaScript expression is true.
func (tab *tab) await(expression string) {
	tab.t.Helper()
	require.Eventually(tab.t, func() bool {
		value, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](expression))
		return err == nil && value
	}, time.Minute, 20*time.Millisecond, expression)
}

// device sets the window's size, the colour scheme and reduced motion.
func (tab *tab) device(look look) {
	tab.t.Helper()
	tab.do(chromedp.EmulateViewport(look.width, look.height), func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: look.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return chromedp.Void{}, err
	})
}

// dress sets the fonts and the shown times, which otherwise differ between machines and runs.
func (tab *tab) dress() {
	tab.t.Helper()
	tab.evaluate(fmt.Sprintf(`(() => {
		const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
		if (!document.fonts.check("1em Look") || ![...document.fonts].length)
			for (const [weight, text] of [["400", %q], ["700", %q]]) document.fonts.add(new FontFace("Look", bytes(text), { weight }));
		for (const face of document.fonts) face.load();
		for (const element of document.querySelectorAll("*")) element.style.setProperty("font-family", "Look", "important");
		const times = ["now", "7 min. ago", "14 min. ago", "21 min. ago", "28 min. ago"];
		document.querySelectorAll("time").forEach((time, i) => (time.textContent = times[i] ?? "10:00 AM"));
	})()`, base64.StdEncoding.EncodeToString(goregular.TTF), base64.StdEncoding.EncodeToString(gobold.TTF)))
	tab.await(`[...document.fonts].length === 2 && [...document.fonts].every((face) => face.status === "loaded")`)
}

const (
	// cutOff returns the elements that extend beyond the left or right side of the window.
	cutOff = `[...document.querySelectorAll("body *")]
		.filter((e) => e.checkVisibility() && !e.closest(".unseen, svg"))
		.filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)
		.map((e) => e.outerHTML.slice(0, 80))`

	// faint returns the elements whose text has a contrast under 4.5 with its background.
	// Disabled elements do not count.
	faint = `(() => {
		const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
		const behind = (e) => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if ((c[3] ?? 1) === 1) return c; } return [255, 255, 255]; };
		const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		return [...document.querySelectorAll("body *")]
			.filter((e) => e.checkVisibility() && !e.disabled && !e.closest(".unseen, option") && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
			.filter((e) => contrast(light(channels(getComputedStyle(e).color)), light(behind(e))) < 4.5)
			.map((e) => e.outerHTML.slice(0, 80));
	})()`
)

// picture is an image of a page, or of several pages in a row.
type picture struct{ *image.RGBA }

const (
	// scale is the factor by which the pictures in testdata/ are smaller than the page.
	scale = 4
	// near is the largest accepted difference between two colours, out of 255. The colours are
	// means of 3 x 3 pixels of a small picture, because browsers draw letters a little differently.
	near = 40
	// few is the maximum number of areas that may differ more.
	few = 3
)

// picture takes a picture of the page.
func (tab *tab) picture() picture {
	tab.t.Helper()
	shot, err := chromedp.Run(tab.ctx, chromedp.CaptureScreenshot())
	require.NoError(tab.t, err)
	return decoded(tab.t, shot)
}

func decoded(t *testing.T, text []byte) picture {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	into := image.NewRGBA(image.Rectangle{Max: from.Bounds().Size()})
	draw.Draw(into, into.Rect, from, from.Bounds().Min, draw.Src)
	return picture{into}
}

// mean returns the mean colour of a square.
func (p picture) mean(x, y, side int) color.RGBA {
	var sum [3]int
	for i := range side * side {
		c := p.RGBAAt(x+i%side, y+i/side)
		sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
	}
	n := side * side
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}
}

// small returns the picture reduced by scale, as in testdata/.
func (p picture) small() picture {
	into := image.NewRGBA(image.Rect(0, 0, p.Rect.Dx()/scale, p.Rect.Dy()/scale))
	for y := range into.Rect.Dy() {
		for x := range into.Rect.Dx() {
			into.SetRGBA(x, y, p.mean(x*scale, y*scale, scale))
		}
	}
	return picture{into}
}

// row joins pictures side by side.
func row(all []picture) picture {
	var size image.Point
	for _, p := range all {
		size.X += p.Rect.Dx() + scale
		size.Y = max(size.Y, p.Rect.Dy())
	}
	into, x := image.NewRGBA(image.Rectangle{Max: size}), 0
	draw.Draw(into, into.Rect, image.White, image.Point{}, draw.Src)
	for _, p := range all {
		draw.Draw(into, p.Rect.Add(image.Pt(x, 0)), p, image.Point{}, draw.Src)
		x += p.Rect.Dx() + scale
	}
	return picture{into}
}

// requireLike requires that the picture and a file look alike at the small size. With
// -write-pictures it overwrites a file that differs.
func (p picture) requireLike(t *testing.T, path string, small func(picture) picture) {
	t.Helper()
	content, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	if err == nil && small(p).differs(small(decoded(t, content))) <= few {
		return
	}
	if !*writePictures {
		now := filepath.Join(os.TempDir(), "herald-"+filepath.Base(path))
		p.write(t, now)
		require.Failf(t, "the page has changed", "compare %s with %s; to accept the change, add -write-pictures", path, now)
	}
	p.write(t, path)
}

// differs counts the areas in which two pictures differ by more than near.
func (p picture) differs(other picture) (areas int) {
	if p.Rect != other.Rect {
		return p.Rect.Dx() * p.Rect.Dy()
	}
	for y := range p.Rect.Dy() - 2 {
		for x := range p.Rect.Dx() - 2 {
			if apart(p.mean(x, y, 3), other.mean(x, y, 3)) > near {
				areas++
			}
		}
	}
	return areas
}

func apart(a, b color.RGBA) uint8 {
	return max(max(a.R, b.R)-min(a.R, b.R), max(a.G, b.G)-min(a.G, b.G), max(a.B, b.B)-min(a.B, b.B))
}

func (p picture) write(t *testing.T, path string) {
	t.Helper()
	var text bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(&text, p))
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o644))
}
