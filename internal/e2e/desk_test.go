package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// desk runs the commands of a document. All tests share one Temporal, so desk replaces the word
// with which the document's event ids begin, and the prefix `herald`, by random words. These have
// the same length, so that tables keep their width.
type desk struct {
	*system
	says   string         // the document's word
	id     *regexp.Regexp // the document's word at the beginning of an id
	word   string         // replaces the document's word
	prefix string         // replaces herald
	more   [2]string      // another text of the document, and its replacement
	dir    string         // the shell's folder
	before string         // shell code before each command
}

func newDesk(t *testing.T, says string) *desk {
	t.Helper()
	d := &desk{
		says: says, id: regexp.MustCompile(`\b` + says + `-`), word: randomWord(len(says)), prefix: randomWord(len("herald")), dir: t.TempDir(),
	}
	d.system = newSystem(t, "TASK_QUEUE_PREFIX="+d.prefix, "HERALD_ACTOR=ada@ops",
		"PATH="+binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return d
}

// randomWord returns a word without hexadecimal digits, so that no generated id contains it.
func randomWord(length int) string {
	const letters = "ghjkmnpqrstvwxyz"
	word := make([]byte, length)
	for i := range word {
		word[i] = letters[rand.IntN(len(letters))]
	}
	return string(word)
}

// own replaces the document's words with this installation's words. seen does the reverse.
func (d *desk) own(text string) string {
	return strings.ReplaceAll(d.id.ReplaceAllString(text, d.word+"-"), d.more[0], d.more[1])
}

func (d *desk) seen(text string) string {
	return strings.NewReplacer(d.word, d.says, d.prefix, "herald", d.more[1], d.more[0]).Replace(text)
}

// shell runs a command like an operator's shell, and returns its output with the exit code.
func (d *desk) shell(command string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", d.before+d.own(command))
	cmd.Dir = d.dir
	cmd.Env = append(d.env, "DATABASE_URL="+withoutPoolSize(d.t, d.servers.databaseURL))
	out, err := cmd.CombinedOutput()
	text := trailingBlanks.ReplaceAllString(d.seen(string(out)), "") // the document has none
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return text + strings.Replace(exit.Error(), "exit status", "(exit code", 1) + ")\n"
	}
	require.NoError(d.t, err, "$ %s\n%s", command, text)
	return text
}

var trailingBlanks = regexp.MustCompile(`(?m)[ \t]+$`)

// withoutPoolSize returns a database's address without pool_max_conns, which psql does not know.
func withoutPoolSize(t *testing.T, address string) string {
	t.Helper()
	parsed := must(url.Parse(address))(t)
	query := parsed.Query()
	query.Del("pool_max_conns")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

const (
	// settle limits the wait until a command shows the expected state.
	settle = 2 * time.Minute
	// settleToWrite replaces settle with -write-docs, because the document may be wrong.
	settleToWrite = 30 * time.Second
)

// looking matches commands that only read. The test repeats them until they show the document's output.
var looking = regexp.MustCompile(`^starter (status|audit|check|template|event (list|show)|delivery (list|show|why)|poller status|replay)\b|--dry-run\b`)

// expectOutput runs a command of the document, requires the document's output, and returns the
// actual output. It runs a command only once if the command changes something.
func (d *desk) expectOutput(part passage) string {
	d.t.Helper()
	patience := settle
	if *writeDocs {
		patience = settleToWrite
	}
	var got string
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		got = d.shell(part.command)
		if strings.HasPrefix(part.command, "starter ") {
			checkTimes(d.t, part.command, got)
		}
		if comparable(got) == comparable(part.output) {
			return part.output
		}
		if !looking.MatchString(part.command) || time.Now().After(deadline) {
			break
		}
	}
	if !*writeDocs {
		require.Equal(d.t, comparable(part.output), comparable(got), "$ %s", part.command)
	}
	return noise.ReplaceAllString(got, "")
}

// noise matches lines that are not in every output: progress of a slow command, and warnings
// about the installations of other tests.
var noise = regexp.MustCompile(`(?m)^(checking …|\d[\d,]* of \d[\d,]* |warning: other installations ).*\n`)

// changing are the texts that change with each run, and their replacements.
var changing = []struct {
	pattern *regexp.Regexp
	stand   string
}{
	{regexp.MustCompile(`(?m)^last sweep .*\n`), ""},                                    // a sweep may run at any time
	{regexp.MustCompile(`(?m)\b\d+ events$|\bevent \d+( of \d+)?$`), "EVENTS"},          // events of a history
	{regexp.MustCompile(`\b(ActivityId|WorkflowTaskCompletedEventId):\d+`), "$1:EVENT"}, // a slow local activity adds events before it
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "RUN"},
	{regexp.MustCompile(`\b(SM[0-9a-f]{32}|[A-Z2-7]{26})\b`), "MESSAGE"},
	{regexp.MustCompile(`\b\d+@\S+`), "WORKER"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z`), "TIME"}, // starter prints no other format
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d(\.\d+)?)?Z?\b`), "CLOCK"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|µs|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b(` + strings.Join(nightZones, "|") + `)\b`), "ZONE"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// comparable returns an output without the texts that change with each run.
func comparable(output string) string {
	output = noise.ReplaceAllString(output, "")
	for _, c := range changing {
		output = c.pattern.ReplaceAllString(output, c.stand)
	}
	return strings.TrimSpace(output)
}

// browser is a headless Chromium. Its tabs share cookies and storage, like one person's tabs.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser starts a browser. Chromium's sandbox is off, because root cannot use it.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	ctx, end := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.NoSandbox))
	t.Cleanup(end)
	// The browser must start now, so that tabs from its context share one browser.
	require.NoError(t, chromedp.Do(ctx), "if there is no Chromium, run make test, or tools/browser.sh")
	return &browser{t, ctx}
}

// tab is an open page. Errors and warnings in its console fail the test at its end, unless the
// test allows them.
type tab struct {
	t       *testing.T
	ctx     context.Context
	allowed string // part of the allowed complaints; empty: none

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
		require.Empty(b.t, tab.complaints, "the browser's console has errors or warnings")
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

// allow ignores later errors and warnings that contain text.
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

// await evaluates a JavaScript expression until it is true. The page's content security policy
// forbids waiting inside the page.
func (tab *tab) await(expression string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression)) // fails while the page loads again
		if err == nil && holds {
			return
		}
		if ctx.Err() != nil {
			tab.t.Fatalf("the expression never became true: %s", expression)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// awaitText waits until an element shows exactly a text.
func (tab *tab) awaitText(selector, text string) {
	tab.t.Helper()
	tab.await(fmt.Sprintf("document.querySelector(%q)?.innerText.trim() === %q", selector, text))
}

// click clicks on an element as soon as it is visible.
func (tab *tab) click(selector string) {
	tab.t.Helper()
	tab.do(chromedp.Click(chromedp.CSS(selector)))
}

// press presses keys on the focused element.
func (tab *tab) press(keys ...string) {
	tab.t.Helper()
	for _, key := range keys {
		tab.do(chromedp.KeyEvent(key))
	}
}

// evaluate returns the value of a JavaScript expression.
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

// lastWords returns the text that the page shows.
func (tab *tab) lastWords() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tab.ctx), 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + '\\n' + document.body.innerText"))
	return fmt.Sprint(text, err)
}
