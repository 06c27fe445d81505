package config

import (
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/environment"
)

// VerifiesDatabase reports whether a process knows that the server of DATABASE_URL is the
// one it names: by its certificate, or because it is on this machine. sslmode=require alone
// encrypts, for whoever answers.
func VerifiesDatabase(url environment.Secret) bool {
	parsed, err := pgconn.ParseConfig(string(url))
	if err != nil {
		return true // the settings' own check names it
	}
	return environment.IsLocal(parsed.Host) || parsed.TLSConfig != nil && !parsed.TLSConfig.InsecureSkipVerify
}
