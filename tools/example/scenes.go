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

// Scene is an event that shows the effects of a receipt, or of a missing receipt. The demo plays
// the scenes one after another, after all other events have ended.
type Scene struct {
	Event    ExpectedEvent                            `json:"event"`
	Outcomes map[string]string                        `json:"outcomes"` // of messages during the scene, by address or number, with the sandbox's names
	Faults   map[notification.Channel]json.RawMessage `json:"faults"`   // of the sandbox, during the scene
	Reads    string                                   `json:"reads"`    // who reads the event in the inbox, like CUSTOMER/42; empty: nobody
}

// Scenes returns the scenes in order.
func Scenes() ([]Scene, error) {
	decoder := json.NewDecoder(bytes.NewReader(scenesJSON))
	decoder.DisallowUnknownFields()
	var scenes []Scene
	if err := decoder.Decode(&scenes); err != nil {
		return nil, fmt.Errorf("read the scenes of the example: %w", err)
	}
	return scenes, nil
}
