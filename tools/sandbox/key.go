package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
)

// openKey reads the key that signs events from the file at path, and makes the file if it does
// not exist. An empty path makes a key in memory.
func openKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: read key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("sandbox: %s is not a key: it is not PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if err != nil || !isECDSA || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("sandbox: %s is not a key for SendGrid's events: it must be ECDSA on P-256, in PKCS 8", path)
	}
	return key, nil
}

func makeKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil || path == "" {
		return key, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("sandbox: make key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("sandbox: write key: %w", err)
	}
	return key, nil
}

// PublicKey returns the value for SENDGRID_WEBHOOK_PUBLIC_KEY, in SendGrid's base64 format.
func (s *Server) PublicKey() string {
	der, err := x509.MarshalPKIXPublicKey(s.courier.key.Public())
	if err != nil {
		panic(err) // it fails only for other curves
	}
	return base64.StdEncoding.EncodeToString(der)
}

func (s *Server) showKey(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(s.PublicKey() + "\n")) // the client may be gone
}
