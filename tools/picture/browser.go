package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// browser is a Chromium that speaks its DevTools protocol through two pipes: messages in
// JSON, each with a zero byte behind it.
// https://chromedevtools.github.io/devtools-protocol/
type browser struct {
	command *exec.Cmd
	profile string
	to      *os.File
	from    *bufio.Reader
	last    int // the id of the last request
}

// page is an open page of a browser.
type page struct {
	browser *browser
	session string
}

// start starts a browser with a profile of its own, which ctx ends.
func start(ctx context.Context, program string) (*browser, error) {
	profile, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return nil, err
	}
	requests, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &browser{profile: profile, to: to, from: bufio.NewReader(from)}
	b.command = exec.CommandContext(ctx, program,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	b.command.ExtraFiles = []*os.File{requests, answers} // 3 and 4, as the browser expects
	if err := b.command.Start(); err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	_ = requests.Close()
	_ = answers.Close() // so that reading ends with the browser
	return b, nil
}

// stop ends the browser and deletes its profile.
func (b *browser) stop() {
	_, _ = b.call("", "Browser.close", nil)
	_ = b.to.Close()
	_ = b.command.Wait()
	_ = os.RemoveAll(b.profile)
}

// open opens a page of a size.
func (b *browser) open(url string, width, height int) (*page, error) {
	target, err := b.call("", "Target.createTarget", map[string]any{"url": "about:blank"})
	if err != nil {
		return nil, err
	}
	session, err := b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	if err != nil {
		return nil, err
	}
	p := &page{browser: b, session: session.SessionID}
	size := map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}
	if _, err := b.call(p.session, "Emulation.setDeviceMetricsOverride", size); err != nil {
		return nil, err
	}
	loaded, err := b.call(p.session, "Page.navigate", map[string]any{"url": url})
	if err == nil && loaded.ErrorText != "" {
		err = errors.New(loaded.ErrorText)
	}
	return p, err
}

// evaluate runs JavaScript in the page, and returns its value as JSON.
func (p *page) evaluate(script string) (string, error) {
	answer, err := p.browser.call(p.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true})
	if err != nil {
		return "", err
	}
	return string(answer.Result.Value), nil
}

// capture returns a PNG.
func (p *page) capture() ([]byte, error) {
	answer, err := p.browser.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"})
	return answer.Data, err
}

// result is what is read of the browser's answers.
type result struct {
	TargetID  string `json:"targetId"`
	SessionID string `json:"sessionId"`
	ErrorText string `json:"errorText"`
	Data      []byte `json:"data"`
	Result    struct {
		Value json.RawMessage `json:"value"`
	} `json:"result"`
}

// call sends a request, and returns the answer to it. What else the browser says is let pass.
func (b *browser) call(session, method string, params map[string]any) (result, error) {
	b.last++
	request := map[string]any{"id": b.last, "method": method}
	if params != nil {
		request["params"] = params
	}
	if session != "" {
		request["sessionId"] = session
	}
	text, err := json.Marshal(request)
	if err != nil {
		return result{}, err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return result{}, fmt.Errorf("%s: the browser has ended: %w", method, err)
	}
	for {
		message, err := b.from.ReadBytes(0)
		if err != nil {
			return result{}, fmt.Errorf("%s: the browser has ended: %w", method, err)
		}
		var answer struct {
			ID     int    `json:"id"`
			Result result `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(message[:len(message)-1], &answer); err != nil {
			return result{}, fmt.Errorf("%s: %w", method, err)
		}
		switch {
		case answer.ID != b.last:
		case answer.Error != nil:
			return result{}, fmt.Errorf("%s: %s", method, answer.Error.Message)
		default:
			return answer.Result, nil
		}
	}
}
