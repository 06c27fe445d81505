package example

import (
	"bytes"
	_ "embed" // the scenes
	"encoding/json"
	"fmt"

	"herald/internal/notification"
)

//go:embed scenes.json
var scenesJSON []byte

// Act is a group of scenes that do not affect each other. The demo plays the scenes of an act at the
// same time, and the acts one after another, after all other events have ended.
type Act []Scene

// Scene is an event that shows the effects of a receipt, or of a missing receipt.
type Scene struct {
	Event ExpectedEvent `json:"event"`
	// of messages during the act, by address or number, with the sandbox's names
	Outcomes map[string]string                        `json:"outcomes"`
	Faults   map[notification.Channel]json.RawMessage `json:"faults"` // of the sandbox, during the act
	Reads    string                                   `json:"reads"`  // who reads the event in the inbox, like CUSTOMER/42; empty: nobody
}

// Acts returns the acts in order.
func Acts() ([]Act, error) {
	decoder := json.NewDecoder(bytes.NewReader(scenesJSON))
	decoder.DisallowUnknownFields()
	var acts []Act
	if err := decoder.Decode(&acts); err != nil {
		return nil, fmt.Errorf("read the scenes of the example: %w", err)
	}
	return acts, nil
}
