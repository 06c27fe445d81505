package sandbox_test

import (
	"net/http"
	"net/url"
	"testing"

	"firebase.google.com/go/v4/messaging"
	"github.com/sendgrid/rest"
	sendgridsdk "github.com/sendgrid/sendgrid-go"
	"github.com/sendgrid/sendgrid-go/helpers/mail"
	"github.com/stretchr/testify/require"
	twilioclient "github.com/twilio/twilio-go/client"
	twilioapi "github.com/twilio/twilio-go/rest/api/v2010"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"

	firebase "firebase.google.com/go/v4"
)

// The tests of this file talk to the sandbox as Herald does: through the
// providers' own SDKs.

func TestSendGridSDK(t *testing.T) {
	t.Parallel()
	b := start(t)
	request := sendgridsdk.GetRequest("key", "/v3/mail/send", b.URL)
	request.Method = rest.Post
	m := mail.NewSingleEmail(mail.NewEmail("Herald", "herald@example.com"), "Hello", mail.NewEmail("Ada", "ada@example.com"), "text", "<p>html</p>")
	m.Personalizations[0].SetCustomArg("delivery_id", "d1")
	request.Body = mail.GetRequestBody(m)
	response, err := (&rest.Client{HTTPClient: &http.Client{}}).SendWithContext(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, response.StatusCode, response.Body)
	require.Equal(t, "d1", b.only(t).DeliveryID)
}

func TestTwilioSDK(t *testing.T) {
	t.Parallel()
	b := start(t)
	base, err := url.Parse(b.URL)
	require.NoError(t, err)
	client := &twilioclient.Client{
		Credentials: twilioclient.NewCredentials("AC123", "token"),
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.URL.Scheme, r.URL.Host, r.Host = base.Scheme, base.Host, ""
			return http.DefaultTransport.RoundTrip(r)
		})},
	}
	client.SetAccountSid("AC123")
	api := twilioapi.NewApiServiceWithClient(client)
	params := (&twilioapi.CreateMessageParams{}).SetFrom("+15005550006").SetBody("hello")

	created, err := api.CreateMessage(params.SetTo("+15551234567"))
	require.NoError(t, err)
	require.Equal(t, "queued", *created.Status)

	_, err = api.CreateMessage(params.SetTo("+15005550009"))
	var refusal *twilioclient.TwilioRestError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, 21614, refusal.Code)
	require.Equal(t, http.StatusBadRequest, refusal.Status)
}

func TestFirebaseSDK(t *testing.T) {
	t.Parallel()
	b := start(t)
	authorized := &http.Client{Transport: &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token"})}}
	app, err := firebase.NewApp(t.Context(), &firebase.Config{ProjectID: "demo"}, option.WithHTTPClient(authorized), option.WithEndpoint(b.URL+"/v1"))
	require.NoError(t, err)
	client, err := app.Messaging(t.Context())
	require.NoError(t, err)
	to := func(token string) *messaging.Message {
		return &messaging.Message{Token: token, Notification: &messaging.Notification{Title: "Hello", Body: "text"}, Data: map[string]string{"delivery_id": "d1"}}
	}

	name, err := client.Send(t.Context(), to("device-1"))
	require.NoError(t, err)
	require.Contains(t, name, "projects/demo/messages/")
	require.Equal(t, "d1", b.only(t).DeliveryID)

	_, err = client.Send(t.Context(), to("dead-1"))
	require.True(t, messaging.IsUnregistered(err), "%v", err)
	_, err = client.Send(t.Context(), to("invalid-1"))
	require.True(t, messaging.IsInvalidArgument(err), "%v", err)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
