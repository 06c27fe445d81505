package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// browser is a Chromium without a window. Its tabs share what tabs of one person share.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser starts a browser; its own sandbox is off, since root cannot use it.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	ctx, end := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.NoSandbox))
	t.Cleanup(end)
	// It starts now, so that tabs that are made of its context are tabs of one browser.
	require.NoError(t, chromedp.Do(ctx), "if there is no Chromium, run make test, or tools/browser.sh")
	return &browser{t, ctx}
}

// tab is a page that is open. Whatever its console complains of fails the test at its end,
// but what the test allows.
type tab struct {
	t       *testing.T
	ctx     context.Context
	allowed string // a part of complaints that are to be expected; empty: none is

	mu         sync.Mutex
	complaints []string
}

// open opens an address in a new tab.
func (b *browser) open(address string) *tab {
	b.t.Helper()
	ctx, end := chromedp.NewContext(b.ctx)
	tab := &tab{t: b.t, ctx: ctx}
	messages := chromedp.Console(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for message, err := range messages {
			if err != nil {
				return
			}
			tab.hear(message)
		}
	})
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("the page at the end:\n%s", tab.lastWords())
		}
		end()
		listening.Wait()
		require.Empty(b.t, tab.complaints, "the console complains")
	})
	tab.do(chromedp.Navigate(address))
	return tab
}

func (tab *tab) hear(message chromedp.ConsoleMessage) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	harmless := message.Type != chromedp.ConsoleError && message.Type != chromedp.ConsoleWarning && !message.IsException()
	if harmless || tab.allowed != "" && strings.Contains(message.Text, tab.allowed) {
		return
	}
	tab.complaints = append(tab.complaints, fmt.Sprint(message, " ", message.URL))
}

// allow expects complaints from now on.
func (tab *tab) allow(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.allowed = text
}

func (tab *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	require.NoError(tab.t, chromedp.Do(ctx, steps...))
}

// await waits until an expression of JavaScript is true. The page's policy forbids that it
// waits by itself.
func (tab *tab) await(expression string) {
	tab.t.Helper()
	for deadline := time.Now().Add(patience); !evaluate[bool](tab, expression); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			tab.t.Fatalf("it is never true: %s", expression)
		}
	}
}

// awaitText waits until an element shows a text, and nothing else.
func (tab *tab) awaitText(selector, text string) {
	tab.t.Helper()
	tab.await(fmt.Sprintf("document.querySelector(%q)?.innerText.trim() === %q", selector, text))
}

// click clicks on an element as soon as it is visible.
func (tab *tab) click(selector string) {
	tab.t.Helper()
	tab.do(chromedp.Click(chromedp.CSS(selector)))
}

// press presses keys, where the focus is.
func (tab *tab) press(keys ...string) {
	tab.t.Helper()
	for _, key := range keys {
		tab.do(chromedp.KeyEvent(key))
	}
}

// evaluate returns the value of an expression of JavaScript.
func evaluate[T any](tab *tab, expression string) T {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(tab.t, err, expression)
	return value
}

// tabTo presses Tab until an element has the focus.
func (tab *tab) tabTo(selector string) {
	tab.t.Helper()
	for range 100 {
		tab.press(kb.Tab)
		if evaluate[bool](tab, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	tab.t.Fatalf("the keyboard does not reach %s", selector)
}

// lastWords is what the page shows.
func (tab *tab) lastWords() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tab.ctx), 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + '\\n' + document.body.innerText"))
	return fmt.Sprint(text, err)
}
