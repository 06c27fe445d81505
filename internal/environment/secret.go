package environment

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret prints as *** in every way; string(s) is the value.
type Secret string

const hidden = "***"

var (
	_ fmt.Formatter  = Secret("")
	_ slog.LogValuer = Secret("")
)

// String returns ***.
func (Secret) String() string { return hidden }

// Format writes *** whatever the verb is.
func (Secret) Format(out fmt.State, _ rune) { _, _ = io.WriteString(out, hidden) }

// LogValue returns ***.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns ***, in JSON as well.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
