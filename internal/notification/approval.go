package notification

import "time"

// ApprovalAnswer is the answer to an event that needs approval. Empty: it waits.
type ApprovalAnswer string

// The answers of event_approval.
const (
	Approved ApprovalAnswer = "APPROVED"
	Rejected ApprovalAnswer = "REJECTED"
)

// Approval is a row of event_approval.
type Approval struct {
	AskedAt    time.Time      `json:"asked_at"`
	Answer     ApprovalAnswer `json:"answer"`
	AnsweredBy string         `json:"answered_by"`
	Reason     string         `json:"reason"`
	AnsweredAt *time.Time     `json:"answered_at"`
	Emitter    string         `json:"emitter"` // the HERALD_ACTOR of `starter emit`; empty: unknown
}

const (
	// ApprovalWait is the time after which an event that nobody answered is rejected.
	ApprovalWait = 7 * 24 * time.Hour
	// ApprovalAlert is the time before that end at which Herald alerts operators.
	ApprovalAlert = 24 * time.Hour
	// NobodyAnswered is the AnsweredBy of an event that was rejected after ApprovalWait.
	NobodyAnswered = "Herald"
	// MaxAnswerText limits the bytes of AnsweredBy and Reason.
	MaxAnswerText = 500
)

// NeedsApproval reports whether an event with so many recipients waits for approval.
func (s EventSetup) NeedsApproval(recipients int) bool {
	return s.ApprovalOver != nil && s.Event.Answer == "" && recipients > *s.ApprovalOver
}
