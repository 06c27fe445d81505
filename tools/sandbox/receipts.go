package sandbox

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	defaultReceiptDelay = time.Second
	maxReceiptDelay     = 24 * time.Hour
)

// Receipts holds the settings for the receipts of accepted messages.
type Receipts struct {
	Delay    *Duration         `json:"delay,omitempty"`    // before the first receipt, and between receipts; nil: 1s
	Late     Duration          `json:"late,omitempty"`     // added to the delay
	Twice    bool              `json:"twice,omitempty"`    // a receipt comes again, one delay later
	Shuffled bool              `json:"shuffled,omitempty"` // the receipts of a message come in any order
	Lost     bool              `json:"lost,omitempty"`     // a receipt never comes
	Rate     *float64          `json:"rate,omitempty"`     // share of the receipts that get each of these faults, 0 to 1; nil: all
	Outcomes map[string]string `json:"outcomes,omitempty"` // by address or number; other addresses name their outcome, see outcomeOf
}

// parseReceipts reads settings from a request or an option. The client sees the error.
func parseReceipts(r io.Reader) (receipts Receipts, err error) {
	if err := decode(r, "settings of receipts", &receipts); err != nil {
		return Receipts{}, err
	}
	return receipts, receipts.validate()
}

// sentence describes the settings for people.
func (r Receipts) sentence() string {
	text := fmt.Sprintf("A receipt comes after %s.", r.delay())
	var faults []string
	if r.Late != 0 {
		faults = append(faults, time.Duration(r.Late).String()+" late")
	}
	for _, fault := range []struct {
		on   bool
		name string
	}{{r.Twice, "twice"}, {r.Shuffled, "in any order"}, {r.Lost, "never"}} {
		if fault.on {
			faults = append(faults, fault.name)
		}
	}
	if len(faults) > 0 {
		share := "All"
		if r.Rate != nil {
			share = fmt.Sprintf("%.0f%%", *r.Rate*100)
		}
		text += fmt.Sprintf(" %s come %s.", share, strings.Join(faults, ", "))
	}
	if len(r.Outcomes) > 0 {
		text += fmt.Sprintf(" Addresses with a given outcome: %d.", len(r.Outcomes))
	}
	return text
}

func (r Receipts) validate() error {
	switch {
	case r.delay() < 0 || r.delay() > maxReceiptDelay:
		return fmt.Errorf("delay must be from 0s to %s", maxReceiptDelay)
	case r.Late < 0 || time.Duration(r.Late) > maxReceiptDelay:
		return fmt.Errorf("late must be from 0s to %s", maxReceiptDelay)
	case !isRate(r.Rate):
		return errRate
	case r.Rate != nil && r.Late == 0 && !r.Twice && !r.Shuffled && !r.Lost:
		return errors.New("rate is given without a fault: add late, twice, shuffled or lost")
	}
	for _, address := range slices.Sorted(maps.Keys(r.Outcomes)) {
		if err := checkOutcome(address, r.Outcomes[address]); err != nil {
			return err
		}
	}
	return nil
}

func (r Receipts) delay() time.Duration {
	if r.Delay == nil {
		return defaultReceiptDelay
	}
	return time.Duration(*r.Delay)
}

func (r Receipts) outcome(address string) string {
	for of, outcome := range r.Outcomes {
		if strings.EqualFold(of, address) {
			return outcome
		}
	}
	return outcomeOf(address)
}

// times returns the times of count receipts of a message accepted at now.
func (r Receipts) times(now time.Time, count int) []time.Time {
	times := make([]time.Time, count)
	for i := range times {
		times[i] = now.Add(r.delay() * time.Duration(i+1))
	}
	return times
}

// disturb applies the faults to a message's receipts, which are in order.
func (r Receipts) disturb(receipts []receipt) []receipt {
	var disturbed []receipt
	due := r.shuffle(receipts)
	for i, receipt := range receipts {
		receipt.due = due[i]
		if r.Late > 0 && hits(r.Rate) {
			receipt.due = receipt.due.Add(time.Duration(r.Late))
		}
		if r.Lost && hits(r.Rate) {
			continue
		}
		disturbed = append(disturbed, receipt)
		if r.Twice && hits(r.Rate) {
			receipt.due = receipt.due.Add(r.delay())
			disturbed = append(disturbed, receipt)
		}
	}
	return disturbed
}

// shuffle returns the new time of each receipt: receipts that get the fault swap their times.
func (r Receipts) shuffle(receipts []receipt) []time.Time {
	due := make([]time.Time, len(receipts))
	var some []int
	for i, receipt := range receipts {
		due[i] = receipt.due
		if r.Shuffled && hits(r.Rate) {
			some = append(some, i)
		}
	}
	rand.Shuffle(len(some), func(i, j int) { due[some[i]], due[some[j]] = due[some[j]], due[some[i]] })
	return due
}

const receiptsLimit = 1 << 20 // bytes of a request that sets receipts: room for ten thousand outcomes or more

// ShownReceipts is the answer to GET /receipts.
type ShownReceipts struct {
	Receipts

	Gateway string `json:"gateway,omitempty"` // where receipts go; empty: the sandbox sends none
}

func (c *courier) show(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, ShownReceipts{Receipts: *c.settings.Load(), Gateway: c.gateway})
}

// set replaces the settings for later messages, and responds with the new settings.
func (c *courier) set(w http.ResponseWriter, r *http.Request) {
	receipts, err := parseReceipts(http.MaxBytesReader(w, r.Body, receiptsLimit))
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	c.settings.Store(&receipts)
	writeJSON(w, http.StatusOK, receipts)
}

// clear restores the defaults.
func (c *courier) clear(w http.ResponseWriter, _ *http.Request) {
	c.settings.Store(&Receipts{})
	w.WriteHeader(http.StatusNoContent)
}
