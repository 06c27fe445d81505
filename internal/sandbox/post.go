package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	postTimeout = 15 * time.Second // Twilio's
	answerLimit = 64 << 10         // bytes of an answer that are read
)

// post is a request to the gateway. It is the same at each attempt, with its signature.
type post struct {
	path    string // with the query
	header  map[string]string
	body    []byte
	repeats func(attempts int, began time.Time, status int) (time.Duration, bool)

	attempts int
	began    time.Time // the first attempt
}

// repeatsMail says whether, and after what time, SendGrid repeats a batch: whatever was wrong
// (0 is no answer), at growing intervals for a day. They begin shorter here, since nobody waits minutes.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook
func repeatsMail(attempts int, began time.Time, _ int) (time.Duration, bool) {
	const longest, day = 10 * time.Minute, 24 * time.Hour
	interval := min(time.Second<<min(attempts-1, 20), longest)
	return interval, time.Since(began)+interval < day
}

// repeatsText says the same of Twilio, from the fragment of the URL: how often it repeats (rc),
// and what (rp), within 15 seconds. Without one, a connection that failed is tried again, once.
// https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides
func repeatsText(fragment string) func(attempts int, began time.Time, status int) (time.Duration, bool) {
	overrides, _ := url.ParseQuery(fragment) // what cannot be read does not count
	count, err := strconv.Atoi(overrides.Get("rc"))
	if err != nil {
		count = 1
	}
	policies := strings.Split(cmp.Or(overrides.Get("rp"), "ct"), ",")
	return func(attempts int, began time.Time, status int) (time.Duration, bool) {
		const interval, longest = 500 * time.Millisecond, 15 * time.Second
		repeated := slices.Contains(policies, "all") || status == 0 && (slices.Contains(policies, "ct") || slices.Contains(policies, "rt")) ||
			status > 0 && slices.Contains(policies, fmt.Sprintf("%dxx", status/100))
		return interval, repeated && attempts <= count && time.Since(began)+interval < longest
	}
}

// send makes the request once, and returns the status and the beginning of the answer.
func (p *post) send(ctx context.Context, client *http.Client, gateway string) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+p.path, bytes.NewReader(p.body))
	if err != nil {
		return 0, nil, fmt.Errorf("post to the gateway: %w", err)
	}
	for name, value := range p.header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("post to the gateway: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return 0, nil, fmt.Errorf("read the gateway's answer: %w", err)
	}
	return response.StatusCode, answer, nil
}

func isSuccess(status int) bool { return status >= 200 && status < 300 }
