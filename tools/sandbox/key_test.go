package sandbox_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

// The sandbox makes the key once, and only its user can read the file.
func TestKeyIsKept(t *testing.T) {
	t.Parallel()

	path := filepath.Join(t.TempDir(), "sendgrid.pem")
	public := func(path string) string {
		server, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Key: path})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		return server.PublicKey()
	}
	made := public(path)
	require.Equal(t, made, public(path))
	require.NotEqual(t, made, public(""))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestKeyRefused(t *testing.T) {
	t.Parallel()

	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(other)
	require.NoError(t, err)
	for content, complaint := range map[string]string{
		"":      "not PEM",
		"hello": "not PEM",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})): "P-256",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})):         "P-256",
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Key: path})
		require.ErrorContains(t, err, complaint)
	}
}
