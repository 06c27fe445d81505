package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/notification"
)

func (a *app) recipientCommand() *cobra.Command {
	return group("recipient", "Erase, export or merge people", a.eraseCommand(), a.exportCommand(), a.mergeCommand())
}

// recipientArgs accepts one argument such as CUSTOMER/42 for each of the recipients, and reads them.
func recipientArgs(recipients ...*notification.RecipientKey) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(len(recipients))(cmd, args); err != nil {
			return err
		}
		for i, text := range args {
			var err error
			if *recipients[i], err = recipientOf(text); err != nil {
				return fmt.Errorf("%q %w", text, err)
			}
		}
		return nil
	}
}

// recipientOf reads a recipient such as CUSTOMER/42. It does not check that the user type exists:
// the types are in the database.
func recipientOf(text string) (notification.RecipientKey, error) {
	kind, id, _ := strings.Cut(text, "/")
	who := notification.RecipientKey{UserType: notification.UserType(strings.ToUpper(kind)), UserID: id}
	if !who.UserType.WellFormed() || id == "" {
		return who, errors.New("must be a user type and an id, such as RESTAURANT_USER/10")
	}
	return who, nil
}
