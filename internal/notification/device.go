package notification

import "errors"

// The errors of a change of a recipient's devices.
var (
	ErrNoDevice       = errors.New("the recipient has no such device")
	ErrManyDevices    = errors.New("the recipient has too many devices")
	ErrForeignDevices = errors.New("recipient_device is a view: devices are registered with the system behind it")
)
