package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/notification"
)

func (a *app) recipientCommand() *cobra.Command {
	return group("recipient", "Erase, export or merge people", a.eraseCommand(), a.exportCommand(), a.mergeCommand())
}

// recipientOf reads an argument such as CUSTOMER/42.
func recipientOf(text string) (notification.RecipientKey, error) {
	kind, id, _ := strings.Cut(text, "/")
	who := notification.RecipientKey{UserType: notification.UserType(strings.ToUpper(kind)), UserID: id}
	if !who.UserType.WellFormed() || id == "" {
		return who, errors.New("must be a user type and an id, such as RESTAURANT_USER/10")
	}
	return who, nil
}
