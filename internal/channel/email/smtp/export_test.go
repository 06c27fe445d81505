package smtp

import (
	"crypto/x509"

	"herald/internal/channel"
)

// Trust makes a sender trust the certificates of a test's servers.
func Trust(sender channel.Sender, roots *x509.CertPool) { sender.(*Sender).roots = roots }
