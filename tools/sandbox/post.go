package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	postTimeout = 15 * time.Second // Twilio's limit
	answerLimit = 64 << 10         // bytes of an answer that send reads
)

// post is a request to the gateway. Each attempt sends the same body and signature.
type post struct {
	path    string // with the query
	header  map[string]string
	body    []byte
	repeats func(attempts int, began time.Time, status int) (time.Duration, bool)
}

// repeatsMail returns the time after which SendGrid repeats a failed batch, and false if it gives
// up. SendGrid repeats after every failure, at growing intervals for a day. The first intervals
// are shorter than SendGrid's intervals, so that no test waits for minutes.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook
func repeatsMail(attempts int, began time.Time, _ int) (time.Duration, bool) {
	const longest, day = 10 * time.Minute, 24 * time.Hour
	interval := min(time.Second<<min(attempts-1, 20), longest)
	return interval, time.Since(began)+interval < day
}

// repeatsText returns the same function for Twilio. The fragment of the URL sets the number of
// retries (rc) and the failures to retry (rp), within 15 seconds. Without a fragment Twilio
// retries once, after a failed connection only. A status of 0 means no answer.
// https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides
func repeatsText(fragment string) func(attempts int, began time.Time, status int) (time.Duration, bool) {
	overrides, _ := url.ParseQuery(fragment) // Twilio ignores invalid parts
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

// send makes one attempt, and returns the status of the answer; 0: there is none.
func (p *post) send(ctx context.Context, client *http.Client, gateway string) (status int) {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+p.path, bytes.NewReader(p.body))
	if err != nil {
		return 0
	}
	for name, value := range p.header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, answerLimit) // an unread body would close the connection
	return response.StatusCode
}

func isSuccess(status int) bool { return status >= 200 && status < 300 }

// Outcomes that both e-mails and text messages can have.
const (
	outcomeDelivered = "delivered" // the default
	outcomeSilent    = "silent"    // the provider sends no receipt
)

// outcomeOf returns the outcome that the address or number itself names, such as
// bounce+7@example.com or +15005550105.
func outcomeOf(address string) string {
	if outcome, known := outcomeByNumber[address]; known {
		return outcome
	}
	local, _, isMail := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	if _, known := mailOutcomes[local]; isMail && known {
		return local
	}
	return outcomeDelivered
}

// checkOutcome returns an error if messages to the address cannot have the outcome.
func checkOutcome(address, outcome string) error {
	if strings.Contains(address, "@") {
		return checkWord(mailOutcomes, "an e-mail", outcome)
	}
	if !isPhone(address) {
		return fmt.Errorf("outcomes are by e-mail address, or by number like +393331234567: %q is neither", address)
	}
	return checkWord(textOutcomes, "a text message", outcome)
}

func checkWord[T any](outcomes map[string]T, of, outcome string) error {
	if _, known := outcomes[outcome]; !known {
		return fmt.Errorf("%q is no outcome of %s: it must be one of %s", outcome, of, strings.Join(slices.Sorted(maps.Keys(outcomes)), ", "))
	}
	return nil
}
