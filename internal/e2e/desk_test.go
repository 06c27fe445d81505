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

// desk is where the commands of a document are run. The ids of its events begin with one
// word; since all tests share one Temporal, another word of the same length stands for it,
// and one for the prefix `herald`, so that tables keep their width.
type desk struct {
	*system
	says   string         // the word
	id     *regexp.Regexp // it, at the beginning of an id
	word   string         // instead
	prefix string         // instead of herald
	more   [2]string      // another text of the document, and what stands for it here
	dir    string         // where the shell is
	before string         // what each command begins with
}

func newDesk(t *testing.T, says string) *desk {
	t.Helper()
	d := &desk{says: says, id: regexp.MustCompile(`\b` + says + `-`), word: randomWord(len(says)), prefix: randomWord(len("herald")), dir: t.TempDir()}
	d.system = newSystem(t, "TASK_QUEUE_PREFIX="+d.prefix, "HERALD_ACTOR=ada@ops", "PATH="+binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return d
}

// randomWord contains no hexadecimal digits, so that it is part of no generated id.
func randomWord(length int) string {
	const letters = "ghjkmnpqrstvwxyz"
	word := make([]byte, length)
	for i := range word {
		word[i] = letters[rand.IntN(len(letters))]
	}
	return string(word)
}

// own turns a text of the document into this installation's; seen does the reverse.
func (d *desk) own(text string) string {
	return strings.ReplaceAll(d.id.ReplaceAllString(text, d.word+"-"), d.more[0], d.more[1])
}

func (d *desk) seen(text string) string {
	return strings.NewReplacer(d.word, d.says, d.prefix, "herald", d.more[1], d.more[0]).Replace(text)
}

// shell runs a command as an operator's shell would, and returns its output and exit code.
func (d *desk) shell(command string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", d.before+d.own(command))
	cmd.Dir = d.dir
	cmd.Env = append(d.env, "DATABASE_URL="+withoutPoolSize(d.t, d.servers.databaseURL))
	out, err := cmd.CombinedOutput()
	text := trailingBlanks.ReplaceAllString(d.seen(string(out)), "") // of which a page has none
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return text + strings.Replace(exit.Error(), "exit status", "(exit code", 1) + ")\n"
	}
	require.NoError(d.t, err, "$ %s\n%s", command, text)
	return text
}

var trailingBlanks = regexp.MustCompile(`(?m)[ \t]+$`)

// withoutPoolSize returns a database's address for psql, which does not know
// pool_max_conns.
func withoutPoolSize(t *testing.T, address string) string {
	t.Helper()
	parsed := must(url.Parse(address))(t)
	query := parsed.Query()
	query.Del("pool_max_conns")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

const (
	// settle is the time that a command may take to show the expected state.
	settle = 2 * time.Minute
	// settleToWrite is the same with -write-docs, when the document may be wrong.
	settleToWrite = 30 * time.Second
)

// looking matches commands that change nothing, so that they can be repeated until they
// show what the document says.
var looking = regexp.MustCompile(`^starter (status|audit|check|template|event (list|show)|delivery (list|show|why)|poller status|replay)\b|--dry-run\b`)

// expectOutput runs a command of the document and returns its output, which must be the
// document's. A command that changes something runs only once.
func (d *desk) expectOutput(part bookPart) string {
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

// noise are lines that come and go: progress, where it takes longer, and what other tests
// are running.
var noise = regexp.MustCompile(`(?m)^(\d[\d,]* of \d[\d,]* |warning: other installations ).*\n`)

// changing are the texts that change with each run, and what replaces them.
var changing = []struct {
	pattern *regexp.Regexp
	stand   string
}{
	{regexp.MustCompile(`(?m)^last sweep .*\n`), ""},                                    // one may come at any time
	{regexp.MustCompile(`(?m)\b\d+ events$|\bevent \d+( of \d+)?$`), "EVENTS"},          // of a history
	{regexp.MustCompile(`\b(ActivityId|WorkflowTaskCompletedEventId):\d+`), "$1:EVENT"}, // a slow local activity adds events before it
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "RUN"},
	{regexp.MustCompile(`\b(SM[0-9a-f]{32}|[A-Z2-7]{26})\b`), "MESSAGE"},
	{regexp.MustCompile(`\b\d+@\S+`), "WORKER"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z`), "TIME"}, // no other form
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d(\.\d+)?)?Z?\b`), "CLOCK"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|µs|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b(` + strings.Join(nightZones, "|") + `)\b`), "ZONE"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// comparable returns an output without what changes with each run.
func comparable(output string) string {
	output = noise.ReplaceAllString(output, "")
	for _, c := range changing {
		output = c.pattern.ReplaceAllString(output, c.stand)
	}
	return strings.TrimSpace(output)
}

// codeBlock is a fenced block of a document.
type codeBlock struct {
	language string // sh, sql; empty: a picture in letters
	text     string
}

// codeBlocks returns the fenced blocks of a document, in order.
func codeBlocks(t *testing.T, document string) []codeBlock {
	t.Helper()
	source := must(os.ReadFile(filepath.Join("../..", document)))(t)
	var blocks []codeBlock
	inBlock := false
	for line := range strings.Lines(string(source)) {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inBlock:
			blocks = append(blocks, codeBlock{language: strings.TrimSpace(language)})
			inBlock = true
		case fence:
			inBlock = false
		case inBlock:
			blocks[len(blocks)-1].text += line
		}
	}
	require.False(t, inBlock, "%s ends within a block", document)
	return blocks
}

// runnable returns the blocks that a reader would run.
func runnable(t *testing.T, document string) []string {
	t.Helper()
	var texts []string
	for _, block := range codeBlocks(t, document) {
		if block.language == "sh" || block.language == "sql" {
			texts = append(texts, block.text)
		}
	}
	return texts
}

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

// lastWords is the text that the page shows.
func (tab *tab) lastWords() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tab.ctx), 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + '\\n' + document.body.innerText"))
	return fmt.Sprint(text, err)
}
