package notification

// OptOut is what somebody answered to a text message.
type OptOut struct {
	MessageID string // the provider's, of the answer: by it a repeat is known
	Number    string // whose it is, in E.164
	Lifted    bool   // true: messages are wanted again (START); false: no more of them (STOP)
}
