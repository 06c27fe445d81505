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

// Scene is an event that shows what follows from a receipt, or from its absence. The scenes are
// played one after another, once all other events have ended.
type Scene struct {
	Event    ExpectedEvent                            `json:"event"`
	Outcomes map[string]string                        `json:"outcomes"` // what becomes of messages meanwhile, by address or number, in the words of the sandbox
	Faults   map[notification.Channel]json.RawMessage `json:"faults"`   // of the sandbox, meanwhile
	Reads    string                                   `json:"reads"`    // CUSTOMER/42, who reads the event in the inbox; empty: nobody
}

// Scenes returns the scenes, in their order.
func Scenes() ([]Scene, error) {
	decoder := json.NewDecoder(bytes.NewReader(scenesJSON))
	decoder.DisallowUnknownFields()
	var scenes []Scene
	if err := decoder.Decode(&scenes); err != nil {
		return nil, fmt.Errorf("read the scenes of the example: %w", err)
	}
	return scenes, nil
}
