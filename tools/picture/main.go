// Command picture takes a picture of a web page as soon as the page shows what it is to
// show. A browser's own --screenshot cannot wait for pages that, like those of running
// workflows, never stop loading.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

const (
	// timeout bounds all of it, the start of the browser included.
	timeout = time.Minute
	// interval is between two looks at the page.
	interval = 300 * time.Millisecond
	// looks is how often a page is compared with how it was, until it stands still.
	looks = 10
)

// order is one picture.
type order struct {
	browser string // the program
	url     string
	until   string // a text that the page shows once it is complete
	width   int
	height  int
	out     string
}

func main() {
	var o order
	flag.StringVar(&o.browser, "browser", "chromium", "the browser: a Chromium")
	flag.StringVar(&o.until, "until", "", "a text that the page shows once it is complete")
	flag.IntVar(&o.width, "width", 1400, "pixels")
	flag.IntVar(&o.height, "height", 1000, "pixels")
	flag.StringVar(&o.out, "out", "", "the PNG file to write")
	flag.Parse()
	if flag.NArg() != 1 || o.out == "" || o.until == "" {
		fmt.Fprintln(os.Stderr, "usage: picture --until TEXT --out FILE URL")
		os.Exit(2)
	}
	o.url = flag.Arg(0)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := take(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "picture of %s: %v\n", o.url, err)
		os.Exit(1) // the browser has been ended
	}
}

// take writes the picture.
func take(ctx context.Context, o order) error {
	b, err := start(ctx, o.browser)
	if err != nil {
		return err
	}
	defer b.stop()
	page, err := b.open(o.url, o.width, o.height)
	if err != nil {
		return err
	}
	if err := page.shows(ctx, o.until); err != nil {
		return err
	}
	png, err := page.still(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, png, 0o644)
}

// shown says whether the page, or a frame in it, shows a text; the Web UI has one for
// what a workflow says of itself.
const shown = `[document, ...Array.from(document.querySelectorAll("iframe"), frame => frame.contentDocument)]
	.some(part => part?.body?.innerText.includes(%s))`

// shows waits for a text.
func (p *page) shows(ctx context.Context, text string) error {
	quoted, err := json.Marshal(text)
	if err != nil {
		return err
	}
	for {
		found, err := p.evaluate(fmt.Sprintf(shown, quoted))
		if err != nil {
			return err
		}
		if found == "true" {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("it does not show %q: %w", text, err)
		}
	}
}

// still returns the picture of a page that has stopped changing, or of one that does not.
func (p *page) still(ctx context.Context) ([]byte, error) {
	var before []byte
	for range looks {
		now, err := p.capture()
		if err != nil {
			return nil, err
		}
		if bytes.Equal(now, before) {
			break
		}
		before = now
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
	return before, nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interval):
		return nil
	}
}
