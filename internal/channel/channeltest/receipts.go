package channeltest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Receivers is the list of receivers of one provider.
type Receivers []channel.Receiver

// NewReceivers returns the receivers that a gateway at publicURL has with these settings.
func NewReceivers(t testing.TB, receipts interface {
	Read(r *environment.Reader)
	Receivers(publicURL string) []channel.Receiver
}, publicURL string, settings map[string]string) Receivers {
	t.Helper()
	r := environment.NewReader(settings)
	receipts.Read(r)
	require.NoError(t, r.Err())
	return receipts.Receivers(publicURL)
}

// Receive passes a request to the receiver of its path, and requires that the table can store the
// receipts.
func (all Receivers) Receive(t testing.TB, target string, header http.Header, body string) (channel.Received, error) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, target, nil)
	request.Header = header
	i := slices.IndexFunc(all, func(r channel.Receiver) bool { return r.Path == request.URL.Path })
	require.GreaterOrEqual(t, i, 0, target)
	if err := all[i].Admit(header); err != nil {
		return channel.Received{}, err
	}
	received, err := all[i].Read(request, []byte(body))
	if received.Malformed < 0 || received.Foreign < 0 || len(received.Receipts)+received.Malformed+received.Foreign > len(body)+1 {
		t.Errorf("%d receipts, %d malformed and %d foreign parts of %d bytes", len(received.Receipts), received.Malformed, received.Foreign,
			len(body))
	}
	for _, r := range received.Receipts {
		requireStorable(t, r)
	}
	for _, answer := range received.OptOuts {
		requireTexts(t, map[string]string{"id": answer.MessageID, "number": answer.Number})
	}
	return received, err
}

func requireStorable(t testing.TB, r notification.Receipt) {
	t.Helper()
	requireTexts(t, map[string]string{"id": r.ID, "delivery": r.DeliveryID, "message": r.MessageID, "word": r.Word, "detail": r.Detail})
	if r.ID == "" || r.DeliveryID == "" || r.Word == "" || len(r.Word) > 40 {
		t.Errorf("the receipt cannot be stored: %+v", r)
	}
	if strings.Contains(r.Detail, "@") {
		t.Errorf("the detail may contain an address: %q", r.Detail)
	}
	if year := r.At.Year(); year < 2000 || year > 3000 {
		t.Errorf("the receipt has the impossible year %d", year)
	}
	if r.Status != "" && r.Status != notification.Delivered && r.Status != notification.Failed {
		t.Errorf("no receipt may set the status %s", r.Status)
	}
}

func requireTexts(t testing.TB, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || len(text) > 600 {
			t.Errorf("%s cannot be stored: %q", name, text)
		}
	}
}

// ReadVectors reads a file of test vectors, with valid and invalid signatures.
func ReadVectors[V any](t *testing.T, file string) []V {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var vectors []V
	require.NoError(t, json.Unmarshal(content, &vectors))
	require.Greater(t, len(vectors), 10)
	require.Contains(t, string(content), `"valid": true`)
	require.Contains(t, string(content), `"valid": false`)
	return vectors
}
