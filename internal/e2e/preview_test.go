package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPreviewIsWhatIsPlanned compares previews with the texts of an event's deliveries.
func TestPreviewIsWhatIsPlanned(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.starter("poller", "start")
	id := s.emit(s.name+"-evt", "RESERVATION_REQUESTED", "RESTAURANT/5", `{"restaurantId": 5, "customer": {"name": "Ada & Co"}, "pax": 4, "date": "2026-12-20", "time": "19:30"}`)
	s.awaitDelivery(id+"-staff10-EMAIL", "SENT")

	for _, channel := range []string{"EMAIL", "WEBSOCKET"} {
		var preview struct{ Title, Body, Plain string }
		require.NoError(t, json.Unmarshal([]byte(s.starter("template", "preview", "--event", id, "--recipient", "RESTAURANT_USER/10", "--channel", channel, "-o", "json")), &preview))
		require.Equal(t, 1, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND title = $2 AND body = $3", id+"-staff10-"+channel, preview.Title, preview.Body))
	}
}
