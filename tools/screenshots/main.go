// Command screenshots takes a picture of a web page once the page shows a text. A
// browser's own --screenshot cannot wait for that.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// timeout limits the whole run, with the start of the browser.
	timeout = time.Minute
	// interval is the time between two looks at the page.
	interval = 300 * time.Millisecond
	// looks is the number of times that the page is compared with its last picture, until it
	// stops changing.
	looks = 10
)

// order describes one picture.
type order struct {
	url           string
	until         string // a text that the page shows once it is complete
	width, height int64
	out           string
}

func main() {
	var o order
	flag.StringVar(&o.until, "until", "", "a text that the page shows once it is complete")
	flag.Int64Var(&o.width, "width", 1600, "pixels")
	flag.Int64Var(&o.height, "height", 1000, "pixels")
	flag.StringVar(&o.out, "out", "", "the PNG file to write")
	flag.Parse()
	if flag.NArg() != 1 || o.out == "" || o.until == "" {
		fmt.Fprintln(os.Stderr, "usage: screenshots --until TEXT --out FILE URL")
		os.Exit(2)
	}
	o.url = flag.Arg(0)
	if err := take(o); err != nil {
		fmt.Fprintf(os.Stderr, "picture of %s: %v\n", o.url, err)
		os.Exit(1)
	}
}

// shown reports whether the page or a frame in it shows a text; the Web UI has a frame for a
// workflow's current details.
const shown = `text => [document, ...Array.from(document.querySelectorAll("iframe"), frame => frame.contentDocument)]
	.some(part => part?.body?.innerText.includes(text))`

// take writes the picture with the installed Chromium. The browser's sandbox is off, since root
// cannot use it.
func take(o order) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ctx, end := chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(chromedp.NoSandbox))
	defer end()
	err := chromedp.Do(ctx, chromedp.EmulateViewport(o.width, o.height), chromedp.Navigate(o.url))
	if err != nil {
		return err
	}
	complete := chromedp.PollFunction[bool](shown, chromedp.WithPollingInterval(interval), chromedp.WithPollingTimeout(0),
		chromedp.WithPollingArgs(o.until))
	if _, err := chromedp.Run(ctx, complete); err != nil {
		return fmt.Errorf("it does not show %q: %w", o.until, err)
	}
	png, err := still(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, png, 0o644)
}

// still returns the picture once the page has stopped changing, or after looks pictures.
func still(ctx context.Context) ([]byte, error) {
	var before []byte
	for range looks {
		now, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil || bytes.Equal(now, before) {
			return now, err
		}
		before = now
		if err := chromedp.Do(ctx, chromedp.Sleep(interval)); err != nil {
			return nil, err
		}
	}
	return before, nil
}
