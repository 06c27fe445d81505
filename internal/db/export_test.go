package db

// DirectoryRelations holds the expression by which statements read each table of the
// directory.
var DirectoryRelations = map[string]string{
	"recipient": DirectoryRecipient, "recipient_device": DirectoryDevice, "entity_member": DirectoryMember,
	"entity_name": DirectoryEntityName,
}
