package smtp

import (
	"crypto/x509"

	"herald/internal/channel"
)

// Remote makes a sender demand STARTTLS, as from a server on another machine.
func Remote(sender channel.Sender) { sender.(*Sender).settings.server.cleartext = false }

// Trust makes a sender trust the certificates of a test's servers.
func Trust(sender channel.Sender, roots *x509.CertPool) { sender.(*Sender).roots = roots }
