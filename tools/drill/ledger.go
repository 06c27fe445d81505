package main

import (
	"encoding/json"
	"errors"
	"os"

	"herald/tools/sandbox"
)

// readLedger reads the messages that the providers accepted.
func (s *stage) readLedger() (all []accepted, err error) {
	file, err := os.Open(s.ledger())
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	for decoder := json.NewDecoder(file); decoder.More(); {
		var entry sandbox.Entry
		if decoder.Decode(&entry) != nil {
			return nil, errors.New("the ledger cannot be read") // the cause may quote an address
		}
		if entry.Accepted {
			all = append(all, accepted{entry.Time, entry.DeliveryID, entry.Recipient, entry.Body + entry.Text})
		}
	}
	return all, nil
}
