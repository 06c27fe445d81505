package email

import "regexp"

// noMailbox are the status codes after which no later mail can reach the address. Reputation, policy
// and full mailboxes have other codes: they pass, or concern the sender.
// https://www.iana.org/assignments/smtp-enhanced-status-codes
var noMailbox = map[string]bool{
	"5.1.1":  true, // no such mailbox
	"5.1.2":  true, // no such domain
	"5.1.3":  true, // no valid address
	"5.1.6":  true, // the mailbox has moved
	"5.1.10": true, // the domain takes no mail
}

// IsDead reports whether a mail server's answer means that the address gets no mail any more. status
// is its enhanced status code, such as 5.1.1.
func IsDead(status string) bool { return noMailbox[status] }

// replyForm is the beginning of a mail server's reply: the reply code, and the enhanced status code.
var replyForm = regexp.MustCompile(`^\s*[245][0-9]{2}[ -]+([245]\.[0-9]{1,3}\.[0-9]{1,3})\b`)

// StatusOf returns the enhanced status code of a mail server's reply; empty: it has none.
func StatusOf(reply string) string {
	found := replyForm.FindStringSubmatch(reply)
	if found == nil {
		return ""
	}
	return found[1]
}
