package fcm

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"firebase.google.com/go/v4/messaging"
	"google.golang.org/api/option"

	"herald/internal/channel"
	"herald/internal/channel/push"
)

// statusNoRetry is a status that no server sends. Firebase's SDK retries a 503 and every failed
// connection for seconds, with no option to disable this. It does not retry statusNoRetry.
const statusNoRetry = 599

// sdkVersion is the version of Firebase's SDK in go.mod. The SDK sends it to Google with each message.
const sdkVersion = "4.19.0"

// deviceAttempt is one message to one device. As the SDK's transport, it adds the access token.
// It gives every failure a status that the SDK does not retry. The exchange holds the real
// answer.
type deviceAttempt struct {
	exchange *channel.Exchange
	token    string
}

func (a *deviceAttempt) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.exchange.RoundTrip(req)
	if err == nil && resp.StatusCode != http.StatusServiceUnavailable {
		return resp, nil
	}
	const unavailable = `{"error":{"status":"UNAVAILABLE"}}`
	return &http.Response{
		StatusCode: statusNoRetry,
		Header:     http.Header{},
		Body:       io.NopCloser(bytes.NewBufferString(unavailable)),
		Request:    req,
	}, nil
}

func (s *Sender) sendTo(ctx context.Context, token string, message *messaging.Message) push.DeviceAnswer {
	exchange := channel.NewExchange(s.wire)
	name, err := s.call(ctx, &deviceAttempt{exchange, token}, message)

	got := push.DeviceAnswer{ID: channel.ProviderID(name), Status: exchange.Status, Took: exchange.Took}
	switch got.Failure = exchange.Failure(ctx, provider); {
	case got.Failure != nil:
		got.Dead = refine(got.Failure, exchange.Body, s.accepted.Load())
	case err != nil || name == "":
		got.Failure = exchange.Unexpected(provider)
	default:
		s.accepted.Store(true)
	}
	return got
}

// call builds a client for this call, because the SDK has no other place for the exchange. That
// takes microseconds.
func (s *Sender) call(ctx context.Context, a *deviceAttempt, message *messaging.Message) (string, error) {
	client := a.exchange.Client()
	client.Transport = a
	config := configOf(messaging.NewClient)
	config.ProjectID, config.Version = s.project, sdkVersion
	config.Opts = []option.ClientOption{option.WithEndpoint(s.endpoint), option.WithHTTPClient(client)}
	fcm, err := messaging.NewClient(ctx, config)
	if err != nil {
		return "", err
	}
	return fcm.Send(ctx, message)
}

// configOf returns an empty configuration for the constructor of Firebase's client for messages. The
// configuration's type is internal to the SDK, so only type inference can name it. The SDK's root
// package would build it, too, but it links Firestore, Cloud Storage and Envoy's API: a quarter of the
// code in a worker.
func configOf[T any](func(context.Context, *T) (*messaging.Client, error)) *T { return new(T) }
