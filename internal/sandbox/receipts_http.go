package sandbox

import (
	"net/http"
	"sync"
)

const receiptsLimit = 1 << 20 // bytes of a request that sets receipts: some ten thousand outcomes

// receiptSettings holds the settings of this moment.
type receiptSettings struct {
	mu       sync.Mutex
	receipts Receipts
}

func (s *receiptSettings) get() Receipts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receipts
}

func (s *receiptSettings) put(receipts Receipts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receipts = receipts
}

// ShownReceipts is the answer to GET /receipts.
type ShownReceipts struct {
	Receipts

	Gateway string `json:"gateway,omitempty"` // to which they go; empty: none are sent
}

func (c *courier) show(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, ShownReceipts{Receipts: c.settings.get(), Gateway: c.gateway})
}

// set replaces the settings, for messages from now on, and responds with the new ones.
func (s *receiptSettings) set(w http.ResponseWriter, r *http.Request) {
	receipts, err := parseReceipts(http.MaxBytesReader(w, r.Body, receiptsLimit))
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	s.put(receipts)
	writeJSON(w, http.StatusOK, receipts)
}

// clear goes back to the defaults.
func (s *receiptSettings) clear(w http.ResponseWriter, _ *http.Request) {
	s.put(Receipts{})
	w.WriteHeader(http.StatusNoContent)
}
